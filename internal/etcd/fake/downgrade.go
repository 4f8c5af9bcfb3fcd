package fake

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

func (c *client) Downgrade(ctx context.Context, to string) error {
	return c.cluster.do(ctx, c.name, Downgrade, func(*member) error {
		switch {
		case c.cluster.target == to:
			return nil
		case to != below(c.cluster.version):
			return errors.New("invalid downgrade target version")
		}
		c.cluster.target = to
		c.cluster.did("enable downgrade to %s", to)
		return nil
	})
}

func (c *client) CancelDowngrade(ctx context.Context) error {
	return c.cluster.do(ctx, c.name, CancelDowngrade, func(*member) error {
		if c.cluster.target != "" {
			c.cluster.target = ""
			c.cluster.did("cancel downgrade")
		}
		return nil
	})
}

// below is the minor version before that of version.
func below(version string) string {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d.", &major, &minor); err != nil {
		panic(err) // of the test that set this version
	}
	return fmt.Sprintf("%d.%d", major, minor-1)
}

// storageOf is the schema of data that members of one version alone have written.
func storageOf(version string) string {
	minor := version[:strings.LastIndexByte(version, '.')]
	if minor == "3.5" {
		return ""
	}
	return minor + ".0"
}

// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objectstore keeps the objects of backups: in S3 and what speaks its language,
// in Google Cloud Storage, in Azure Blob Storage, or on a mounted volume.
//
// An object is written whole and once, from memory, by one request that the store
// refuses if the name is taken. It must never write a stream or in several requests
// (each library leaves something else behind when that ends early), never overwrite
// an object, never read the environment, and never log.
package objectstore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// MaxObject is the most bytes that Put takes: twice a part of a backup. With retries a write of this size takes two minutes at most.
const MaxObject = 16<<20 - 1

// Store holds whole objects. Every error of a method is an *Error, or the error of
// ctx if that ended. It may be used by many goroutines at once.
//
// A name that is written or deleted has parts of [a-z0-9._-], with a slash between parts; a
// part does not begin with a dot. Others may have written other names, which can be read. A
// folder is empty, for everything, or a name with a slash after it. Of "a" and "a/b" only one is
// used: on a volume, "a" is a file or a folder.
type Store interface {
	// Put creates an object. An object of that name with the same content is success,
	// since it is what a write whose answer was lost leaves; one with other content is Exists.
	// It takes as long as its content at SlowestRate, retries included.
	Put(ctx context.Context, name string, content []byte) error

	// Get reads a whole object of at most limit bytes; more is TooLarge.
	Get(ctx context.Context, name string, limit int64) ([]byte, error)

	// Head reads the first bytes of an object, by one request for no more than these: all of it if it has fewer.
	Head(ctx context.Context, name string, bytes int64) ([]byte, error)

	// Open reads an object of any size from its beginning to its end. After a broken
	// connection the reader continues where it was; Slow means that it came below SlowestRate, and
	// Changed that the object became another one meanwhile. The reader must be closed, and ends with ctx.
	Open(ctx context.Context, name string) (io.ReadCloser, error)

	// List returns every object below a folder, at any depth, sorted by name as bytes.
	// A folder that does not exist has none.
	List(ctx context.Context, folder string) iter.Seq2[Object, error]

	// Folders returns the folders right below a folder, sorted, each as a whole name with its slash.
	Folders(ctx context.Context, folder string) iter.Seq2[string, error]

	// Delete removes an object; one that is gone already is success. Locked means that the store
	// keeps it, because it was written so or because the bucket says so.
	Delete(ctx context.Context, name string) error

	// Close ends idle connections.
	Close() error
}

// Object is what a listing reports of an object.
type Object struct {
	Name     string
	Size     int64     // bytes
	Modified time.Time // by the store's clock, in whole seconds at some stores
}

// Config is a store as its EtcdBackupStore says it, and what that does not say.
type Config struct {
	Spec v1beta1.EtcdBackupStoreSpec

	Keys    map[string]string // of the Secret that the spec names, by v1beta1.Key…
	AWS     AWSIdentity       // without keys
	Azure   AzureIdentity     // without keys
	Allowed Endpoints         // that may be sent tokens, besides the provider's
	CA      []byte            // PEM; authorities that are trusted besides the system's
	Proxy   Proxy

	Mount       string    // where the volume is mounted; it must be there
	LockedUntil time.Time // the same for all objects of a backup; zero: nothing is locked, whatever the spec says
}

// Open makes a store. It sends no request to the store: Check does.
func Open(ctx context.Context, c Config) (Store, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

func (c Config) open(ctx context.Context) (Store, error) {
	switch spec := c.Spec; {
	case spec.S3 != nil:
		return c.openS3(ctx, *spec.S3)
	case spec.GCS != nil:
		return c.openGCS(ctx, *spec.GCS)
	case spec.Azure != nil:
		return c.openAzure(ctx, *spec.Azure)
	case spec.Volume != nil:
		return c.openVolume(*spec.Volume)
	}
	return nil, &Error{Kind: Invalid, Do: "open", Message: "the spec names no store"}
}

// ourName is what every store, file system and URL takes as it is. No part begins with a dot, or can be "..".
var ourName = regexp.MustCompile(`^[a-z0-9_-][a-z0-9._-]*(/[a-z0-9_-][a-z0-9._-]*)*$`)

const (
	longestKey  = 1024 // bytes; the limit of S3, Google and Azure
	longestName = 768  // leaves room for a prefix
)

func checkWritable(do, name string) error {
	if !ourName.MatchString(name) || len(name) > longestName {
		return &Error{Kind: Invalid, Do: do, Name: name, Message: "the name has more than [a-z0-9._-] between slashes, or is too long"}
	}
	return nil
}

func checkReadable(name string) error {
	if !isPath(name) {
		return &Error{Kind: Invalid, Do: "read", Name: name, Message: "not a name of an object"}
	}
	return nil
}

func checkFolder(folder string) error {
	if name, ok := strings.CutSuffix(folder, "/"); folder != "" && (!ok || !isPath(name)) {
		return &Error{Kind: Invalid, Do: "list", Name: folder, Message: "a folder is empty, or a name with a slash after it"}
	}
	return nil
}

// isPath is whether a name has nothing that goes up, starts at a root, or cannot be printed.
func isPath(name string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == '\\' }
	return fs.ValidPath(name) && name != "." && len(name) <= longestKey && !strings.ContainsFunc(name, odd)
}

// folderOf makes a user's prefix a folder: "a/b" and "/a/b/" are "a/b/".
func folderOf(prefix string) (string, error) {
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return "", nil
	}
	if !isPath(prefix) || len(prefix) > longestKey-longestName {
		return "", &Error{Kind: Invalid, Do: "use prefix", Name: prefix, Message: "not names with slashes between them, or more than 256 bytes"}
	}
	return prefix + "/", nil
}

func checkContent(name string, content []byte) error {
	if len(content) == 0 || len(content) > MaxObject {
		words := fmt.Sprintf("%d bytes; an object is written with 1 to %d", len(content), MaxObject)
		return &Error{Kind: Invalid, Do: "write", Name: name, Message: words}
	}
	return nil
}

// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	registrybundle "github.com/operator-framework/operator-registry/pkg/lib/bundle"
	"github.com/sirupsen/logrus"
)

// newestKubernetes is the newest version that the tests run on: APIs that it no longer has are warned of.
const newestKubernetes = "1.37"

// validators are the default ones of `operator-sdk bundle validate`, those of its suite=operatorframework, and the one for
// other objects.
var validators = append(append(interfaces.Validators{}, validation.DefaultBundleValidators...),
	validation.OperatorHubV2Validator,
	validation.StandardCapabilitiesValidator,
	validation.StandardCategoriesValidator,
	validation.AlphaDeprecatedAPIsValidator,
	validation.GoodPracticesValidator,
	validation.ObjectValidator,
)

func checkValidators(b *Bundle, _ Options) []string { return validated(b, validators) }

// validated takes a warning for as bad as an error. It reads the bundle again, since some validators fill in defaults.
func validated(b *Bundle, validators interfaces.Validators) []string {
	raw, err := manifests.GetBundleFromDir(b.Folder)
	if err != nil {
		return []string{err.Error()}
	}
	objects := append(raw.ObjectsToValidate(), map[string]string{"k8s-version": newestKubernetes})
	var all []string
	for _, result := range validators.Validate(objects...) {
		for _, finding := range append(result.Errors, result.Warnings...) {
			all = append(all, finding.Error())
		}
	}
	return all
}

// checkFormat is what operator-registry asks of the folder of a bundle image, `operator-sdk bundle validate` first of all.
func checkFormat(b *Bundle, _ Options) []string {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	validator := registrybundle.NewImageValidator(nil, logrus.NewEntry(quiet))
	all := findings(validator.ValidateBundleFormat(b.Folder))
	return append(all, findings(validator.ValidateBundleContent(filepath.Join(b.Folder, "manifests")))...)
}

func findings(err error) []string {
	if err == nil {
		return nil
	}
	var many registrybundle.ValidationError
	if !errors.As(err, &many) {
		return []string{err.Error()}
	}
	var all []string
	for _, one := range many.Errors {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
)

// parseRecipients reads age's public keys: age1…, or age1pq1… for all of them.
func parseRecipients(texts []string) ([]age.Recipient, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	recipients, err := age.ParseRecipients(strings.NewReader(strings.Join(texts, "\n")))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWrongRecipient, err)
	}
	if len(recipients) != len(texts) {
		return nil, fmt.Errorf("%w: there are %d keys in %d texts", ErrWrongRecipient, len(recipients), len(texts))
	}
	return recipients, nil
}

// encrypt is a writer that encrypts to all recipients, or the destination itself if there are none. It must be
// closed after success only. It does not close its destination.
func encrypt(destination io.Writer, recipients []age.Recipient) (io.WriteCloser, error) {
	if len(recipients) == 0 {
		return plain{destination}, nil
	}
	encrypted, err := age.Encrypt(destination, recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return encrypted, nil
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// decrypt is the stream that encrypt was given. Identities are the text of a file that age-keygen makes.
func decrypt(parts io.Reader, encryption *Encryption, identities []byte) (io.Reader, error) {
	if encryption == nil {
		return parts, nil
	}
	to := strings.Join(encryption.Recipients, ", ")
	if len(bytes.TrimSpace(identities)) == 0 {
		return nil, fmt.Errorf("%w: none was given, and it is encrypted to %s", ErrWrongKey, to)
	}
	keys, err := age.ParseIdentities(bytes.NewReader(identities))
	if err != nil {
		return nil, fmt.Errorf("%w: the identities cannot be read: %w", ErrWrongKey, err)
	}
	decrypted, err := age.Decrypt(parts, keys...)
	if noMatch := new(age.NoIdentityMatchError); errors.As(err, &noMatch) {
		return nil, fmt.Errorf("%w: it is encrypted to %s", ErrWrongKey, to)
	}
	if err != nil {
		return nil, decoding(err)
	}
	return decrypted, nil
}

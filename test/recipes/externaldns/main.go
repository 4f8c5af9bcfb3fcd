// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command externaldns writes a record as external-dns does with its provider coredns, and lists what is there. It has the variables of
// external-dns (ETCD_URLS and others) and the flag for the prefix.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/provider/coredns"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	prefix := flag.String("coredns-prefix", "/skydns/", "")
	name := flag.String("name", "", "the name of the record")
	address := flag.String("address", "", "its address")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	provider, err := coredns.New(ctx, &externaldns.Config{CoreDNSPrefix: *prefix, TXTOwnerID: "recipe"}, endpoint.NewDomainFilter(nil))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	record := endpoint.NewEndpoint(*name, endpoint.RecordTypeA, *address)
	if err := provider.ApplyChanges(ctx, &plan.Changes{Create: []*endpoint.Endpoint{record}}); err != nil {
		return fmt.Errorf("create %s: %w", *name, err)
	}
	all, err := provider.Records(ctx)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	for _, found := range all {
		fmt.Println(found.DNSName, found.RecordType, found.Targets)
	}
	return nil
}

// Package access says who may call which method of our gRPC servers, in one
// table, and holds the aggregator's callers to it: agents show the token of
// their pod, other aggregators a certificate of their service.
//
// Types that do not speak of concurrent use are plain values.
package access

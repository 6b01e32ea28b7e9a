package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// scraped is what /metrics shows: each series by its name and labels.
type scraped struct {
	values endpoint.Metrics
	// buckets are those of histograms, in their order.
	buckets map[string][]bucket
}

type bucket struct{ bound, count float64 }

func scrape(ctx context.Context, addr string) (scraped, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	all, err := endpoint.Scraper{URL: "http://" + addr, Client: client}.Scrape(ctx)
	if err != nil {
		return scraped{}, err
	}
	return bucketed(all)
}

// bucketed finds the histograms, by series such as `name_bucket{le="1e-06"}`.
func bucketed(all endpoint.Metrics) (scraped, error) {
	s := scraped{values: all, buckets: map[string][]bucket{}}
	for series, count := range all {
		name, bound, ok := strings.Cut(series, `_bucket{le="`)
		if !ok {
			continue
		}
		le, err := strconv.ParseFloat(strings.TrimSuffix(bound, `"}`), 64)
		if err != nil {
			return scraped{}, fmt.Errorf("%s: %w", series, err)
		}
		s.buckets[name] = append(s.buckets[name], bucket{le, count})
	}
	for _, of := range s.buckets {
		slices.SortFunc(of, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	}
	return s, nil
}

// quantile is the upper bound of the bucket that holds it.
func (s scraped) quantile(name string, q float64) time.Duration {
	for _, b := range s.buckets[name] {
		if b.count >= q*s.values[name+"_count"] && !math.IsInf(b.bound, 1) {
			return time.Duration(b.bound * float64(time.Second))
		}
	}
	return math.MaxInt64
}

func (s scraped) bounds(name string) bounds {
	return bounds{s.quantile(name, .5), s.quantile(name, .99)}
}

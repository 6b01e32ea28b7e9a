package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// scraped is what /metrics shows: each series by its name and labels.
type scraped struct {
	values map[string]float64
	// buckets are those of histograms, in their order.
	buckets map[string][]bucket
}

type bucket struct{ bound, count float64 }

func scrape(ctx context.Context, addr string) (scraped, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return scraped{}, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return scraped{}, err
	}
	defer response.Body.Close()
	return parse(response.Body)
}

// parse reads lines such as `name_bucket{le="1e-06"} 17`.
func parse(text io.Reader) (scraped, error) {
	s := scraped{values: map[string]float64{}, buckets: map[string][]bucket{}}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		series, number, ok := strings.Cut(lines.Text(), " ")
		if !ok || series == "#" {
			continue
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			continue // labels with spaces, which none of ours has
		}
		s.values[series] = value
		if name, bound, ok := strings.Cut(series, `_bucket{le="`); ok {
			le, err := strconv.ParseFloat(strings.TrimSuffix(bound, `"}`), 64)
			if err != nil {
				return scraped{}, fmt.Errorf("%s: %w", series, err)
			}
			s.buckets[name] = append(s.buckets[name], bucket{le, value})
		}
	}
	return s, lines.Err()
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

package spazioctl

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/operator/convert"
)

// newConvertCommand returns the command spazio convert.
func newConvertCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "convert",
		Short: "Rewrite the manifests of older test beds",
		Long: "spazio convert prints manifests of group batchjob.gcr.io as those of\n" +
			"testbed.spazio-scheduler.github.io. Other objects stay. What has no place\n" +
			"in them is left out, and named on standard error.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runConvert(file, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringVarP(&file, "filename", "f", "-", "file of manifests; - is standard input")
	return c
}

func runConvert(file string, in io.Reader, out, errs io.Writer) error {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(in) }
	}
	old, err := read()
	if err != nil {
		return err
	}
	text, notes, err := convert.Manifests(old)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(errs, n)
	}
	_, err = out.Write(text)
	return err
}

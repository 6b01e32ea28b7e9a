package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Ext is the extension of a recording's files.
const Ext = ".spazio"

// writer writes batches to numbered files. It belongs to one goroutine.
type writer struct {
	dir                 string
	fileSize, totalSize int64

	file   *os.File
	whole  int64  // bytes of file that end with a record
	number uint64 // of file
}

// prepare makes the directory and finds the number to go on from.
func (w *writer) prepare() error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	files, err := filesOf(w.dir)
	if err != nil {
		return err
	}
	if n := len(files); n > 0 {
		w.number = files[n-1].number
	}
	return nil
}

// write writes a batch. After an error the file is cut back to whole records
// and given up; the next batch has to begin a new one.
func (w *writer) write(b *batch) error {
	at := 0
	for _, start := range b.files {
		if err := w.append(b.bytes[at:start]); err != nil {
			return err
		}
		if err := w.next(); err != nil {
			return err
		}
		at = start
	}
	return w.append(b.bytes[at:])
}

func (w *writer) append(records []byte) error {
	if len(records) == 0 {
		return nil
	}
	if _, err := w.file.Write(records); err != nil {
		return errors.Join(fmt.Errorf("recording: %w", err), w.abandon())
	}
	w.whole += int64(len(records))
	return nil
}

// abandon leaves a file that can't be written to in the best shape there is. A
// reader copes with any other too.
func (w *writer) abandon() error {
	path := w.file.Name()
	err := w.file.Truncate(w.whole)
	w.file.Close()
	w.file = nil
	if w.whole == 0 {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("recording: abandoned: %w", err)
	}
	return nil
}

// next closes the file, makes room and begins the next one.
func (w *writer) next() error {
	if err := w.close(); err != nil {
		return err
	}
	if err := w.prune(); err != nil {
		return err
	}
	path := filepath.Join(w.dir, fmt.Sprintf("%08d%s", w.number+1, Ext))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	w.file, w.whole = file, 0
	w.number++
	return nil
}

// close brings the file to the disk.
func (w *writer) close() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.file.Sync(), w.file.Close())
	w.file = nil
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}

// prune deletes the oldest files until one more fits.
func (w *writer) prune() error {
	files, err := filesOf(w.dir)
	if err != nil {
		return err
	}
	total := w.fileSize
	for _, f := range files {
		total += f.size
	}
	for _, f := range files {
		if total <= w.totalSize {
			break
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("recording: %w", err)
		}
		total -= f.size
	}
	return nil
}

type file struct {
	path   string
	number uint64
	size   int64
}

// filesOf returns the files of a recording in the order they were written.
func filesOf(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	var files []file
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), Ext)
		if !ok {
			continue
		}
		number, err := strconv.ParseUint(base, 10, 64)
		if err != nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted by its Recorder
		}
		if err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
		files = append(files, file{filepath.Join(dir, e.Name()), number, info.Size()})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.number, b.number) })
	return files, nil
}

package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func sleeper(t *testing.T) (Book, Command) {
	t.Helper()
	dir := t.TempDir()
	command := Command{Name: "sleeper", Argv: []string{"/bin/sleep", "60"}, Log: filepath.Join(dir, "log"), Dir: dir}
	return Book{Dir: dir}, command
}

func TestStartFindStop(t *testing.T) {
	book, command := sleeper(t)
	if err := book.Start(command); err != nil {
		t.Fatal(err)
	}
	record, alive := book.Find("sleeper")
	if !alive || !record.Runs(command) || book.Living() != 1 {
		t.Fatalf("started, but found %+v, alive %v", record, alive)
	}
	if err := book.Stop("sleeper", time.Second); err != nil {
		t.Fatal(err)
	}
	if _, alive := book.Find("sleeper"); alive || record.Alive() {
		t.Error("stopped, but alive")
	}
	if err := book.Stop("sleeper", time.Second); err != nil {
		t.Errorf("a second stop is harmless, but: %v", err)
	}
}

func TestAReusedNumberIsNotOurs(t *testing.T) {
	ticks, _, ok := stat(os.Getpid())
	if !ok {
		t.Fatal("cannot read our own start")
	}
	ours := Record{PID: os.Getpid(), Ticks: ticks, Boot: boot()}
	if !ours.Alive() {
		t.Error("we are alive")
	}
	later, rebooted := ours, ours
	later.Ticks++
	rebooted.Boot = "another"
	if later.Alive() || rebooted.Alive() {
		t.Error("a process of another start or boot passes for ours")
	}
}

func TestAChangedFileCallsForARestart(t *testing.T) {
	book, command := sleeper(t)
	file := filepath.Join(book.Dir, "settings")
	command.Reads = []string{file}
	if err := os.WriteFile(file, []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := book.Start(command); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = book.Stop("sleeper", 0) }()
	if err := os.WriteFile(file, []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	if record, _ := book.Find("sleeper"); record.Runs(command) {
		t.Error("the file has changed, but the process counts as current")
	}
}

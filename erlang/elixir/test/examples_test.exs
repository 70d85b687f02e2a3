defmodule FyrisExamplesTest do
  use ExUnit.Case, async: true
  import ExUnit.CaptureIO

  for example <- Path.wildcard(Path.expand("../examples/*.exs", __DIR__)) do
    test "#{Path.basename(example)} runs, and keeps what it promises" do
      assert capture_io(fn -> Code.eval_file(unquote(example)) end) != ""
    end
  end
end

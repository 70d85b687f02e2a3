defmodule Fyris.MigrateTest do
  use ExUnit.Case, async: true

  defp calls(source) do
    {:ok, findings} = Fyris.Migrate.scan(source)
    Enum.map(findings, & &1.call)
  end

  defp rewritten(source) do
    {:ok, new, _} = Fyris.Migrate.rewrite(source)
    new
  end

  test "calls, captures, pipes and what is applied" do
    assert calls("f = fn t -> :ets.lookup(t, 1) end") == [{:lookup, 2}]
    assert calls("t |> :ets.lookup(1) |> hd()") == [{:lookup, 2}]
    assert calls("&:ets.lookup/2") == [{:lookup, 2}]
    assert calls("apply(:ets, :lookup, [t, 1])") == [{:lookup, 2}]
    assert calls("apply(:ets, f, args)") == [{:_, :unknown}]
    assert calls("Task.async(:ets, :tab2list, [t])") == [{:tab2list, 1}]
    assert calls("{:ets, :info, args}") == [{:info, :unknown}]
    assert calls(":ets.insert(t, :ets.lookup(u, 1))") == [{:insert, 2}, {:lookup, 2}]
    assert calls("if a, do: :ets.all(), else: [x: :ets.new(:a, [:set])]") == [{:all, 0}, {:new, 2}]
  end

  test "types and modules" do
    assert calls("@spec f(:ets.tid()) :: :ets.tab()") == [:type, :type]
    assert rewritten("alias :ets, as: T\nT.new(:a, [])") == "alias :fyris, as: T\nT.new(:a, [])"
    assert rewritten("@tables :ets\ndef f, do: @tables.all()") == "@tables :fyris\ndef f, do: @tables.all()"
    assert rewritten("m = :ets\nm.all()") == "m = :fyris\nm.all()"
  end

  test "tables that other modules of OTP are handed stay, and are listed" do
    assert calls("fn d, t -> :dets.to_ets(d, t) end") == [{:dets, :to_ets, :unknown}]
    assert calls("d |> :dets.from_ets(:ets.new(:t, []))") == [{:dets, :from_ets, :unknown}, {:new, 2}]
    assert rewritten(":dets.to_ets(d, t)") == ":dets.to_ets(d, t)"
    assert calls(":dets.lookup(d, 1)") == []
  end

  test "atoms stay, and are listed" do
    for source <- ["use Cache, backend: :ets", "@backend :ets", "[:ets, :dets]", "~w(ets dets)a", "m = :ets"] do
      assert calls(source) == [:reference]
      assert rewritten(source) == source
    end

    assert calls("[ets: 1]; %{ets: 2}; \":ets.all()\" # :ets.all()") == []
  end

  test "tables of OTP stay" do
    source = ":ets.lookup(:mnesia_gvar, :a)"
    assert {:ok, [%{becomes: :keep, note: note}]} = Fyris.Migrate.scan(source)
    assert to_string(note) =~ "OTP"
    assert rewritten(source) == source

    assert rewritten(":ets.new(:logger, []); :ets.info(:logger)") ==
             ":fyris.new(:logger, []); :fyris.info(:logger)"
  end

  test "a fun as a match specification is advised as Elixir has it" do
    assert {:ok, [%{note: note}]} = Fyris.Migrate.scan(":ets.fun2ms(fn {k, _} -> k end)")
    assert to_string(note) =~ "Fyris.MatchSpec.fun/1"
  end

  test "what does not exist stays" do
    assert {:ok, [%{becomes: :keep}]} = Fyris.Migrate.scan(":ets.nothing(1)")
  end

  test "the rest of a line is kept" do
    source = "  x = {\"ä\u{1F600}\", :ets.all(), :\"ets\".all()} # :ets\r\n\n"
    assert rewritten(source) == "  x = {\"ä\u{1F600}\", :fyris.all(), :fyris.all()} # :ets\r\n\n"
    assert rewritten(rewritten(source)) == rewritten(source)
  end

  test "a source that is none is an error" do
    assert {:error, "line 1: " <> _} = Fyris.Migrate.scan("f(")
    assert {:error, _} = Fyris.Migrate.rewrite("end")
  end

  @tag :tmp_dir
  test "the task lists, and writes when told to", %{tmp_dir: folder} do
    Mix.shell(Mix.Shell.Process)
    file = Path.join(folder, "a.ex")
    File.write!(file, "defmodule A do\n  def all, do: :ets.all()\nend\n")
    Mix.Tasks.Fyris.Migrate.run([folder])
    assert_received {:mix_shell, :info, [text]}
    assert text =~ "a.ex:2:16: :ets.all/0 -> :fyris.all/0  (lists tables of fyris only)"
    assert File.read!(file) =~ ":ets"
    Mix.Tasks.Fyris.Migrate.run(["--write", file])
    refute File.read!(file) =~ ":ets"
    assert_raise Mix.Error, ~r/--wrong/, fn -> Mix.Tasks.Fyris.Migrate.run(["--wrong"]) end
  end
end

defmodule Mix.Tasks.Fyris.Migrate do
  @shortdoc "Lists the uses of :ets in a project, and rewrites them to :fyris"

  @moduledoc """
  Lists every use of `:ets` in the sources of a project, with what it becomes; with `--write` rewrites those that have a
  counterpart.

      mix fyris.migrate [--write] [PATH...]

  A path is a file or a folder; `lib`, `test` and `config` without one. Sources are `.ex` and `.exs`; for those of Erlang,
  `src` for example, there is `:fyris_migrate.print/1`. Calls on tables of OTP itself stay with `:ets`, as do atoms that
  need not mean the module (`backend: :ets`); both are listed with a note.
  """

  use Mix.Task

  @impl true
  def run(args) do
    {options, paths, unknown} = OptionParser.parse(args, strict: [write: :boolean])
    if unknown != [], do: Mix.raise("unknown option #{unknown |> hd() |> elem(0)}: the options are --write")
    Mix.Task.run("loadpaths")
    paths = if paths == [], do: Enum.filter(["lib", "test", "config"], &File.dir?/1), else: paths
    paths |> Enum.flat_map(&sources/1) |> Enum.each(if options[:write], do: &write/1, else: &list/1)
  end

  defp sources(path) do
    cond do
      File.dir?(path) -> Path.wildcard(Path.join(path, "**/*.{ex,exs}"))
      File.regular?(path) -> [path]
      true -> Mix.raise("there is no #{path}")
    end
  end

  defp list(file) do
    case Fyris.Migrate.scan(File.read!(file)) do
      {:ok, findings} -> Enum.each(findings, &Mix.shell().info(line(file, &1)))
      {:error, why} -> Mix.shell().error("#{file}: cannot be read: #{why}")
    end
  end

  defp line(file, %{line: line, column: column, call: call, becomes: becomes} = finding) do
    note = if finding[:note], do: "  (#{finding.note})", else: ""
    "#{file}:#{line}:#{column}: #{used(call)} -> #{shown(becomes)}#{note}"
  end

  defp used({:_, _}), do: ":ets.f"
  defp used({f, :unknown}), do: ":ets.#{f}"
  defp used({f, arity}), do: ":ets.#{f}/#{arity}"
  defp used({module, f, _}), do: ":#{module}.#{f}"
  defp used(:type), do: "a type of :ets"
  defp used(_), do: ":ets"

  defp shown(:keep), do: "stays"
  defp shown(~c"fyris:" ++ call), do: ":fyris.#{call}"
  defp shown(text), do: "#{text}"

  defp write(file) do
    case Fyris.Migrate.rewrite(File.read!(file)) do
      {:ok, _, 0} ->
        :ok

      {:ok, new, count} ->
        File.write!(file, new)
        Mix.shell().info("#{file}: #{count} rewritten")

      {:error, why} ->
        Mix.shell().error("#{file}: cannot be read: #{why}")
    end
  end
end

defmodule Fyris.Verbs.Queries do
  @moduledoc false
  # The functions of `Fyris` for objects by what they are.

  alias Fyris.{Options, Table}

  defmacro __using__(_) do
    quote location: :keep do
      defbang select(
                table :: table,
                spec :: :ets.match_spec(),
                options :: [limit | {:reverse, boolean}] \\ []
              ) :: [term],
              """
              Returns what a match specification (`Fyris.MatchSpec.fun/1` writes them) makes of the objects; with
              `limit:` the first of it, as it was at one moment, with `reverse: true` in descending order of an
              `:ordered_set`. If it visits more than 512, it sees them as they were at one moment; else it visits each
              that is there throughout once, and perhaps others. If it names keys, or a range of them in an
              `:ordered_set`, no others are visited (`explain/2`).
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
                ~S|Fyris.select!(table, [{{:"$1", :"$2"}, [{:>, :"$2", 1}], [:"$1"]}])|,
                ~S|[:b]|
              ] do
        case options do
          [] -> :fyris.select(id(table), spec)
          _ -> selected(id(table), spec, Options.validate!(options, [:limit, reverse: false]))
        end
      end

      defp selected(id, spec, options), do: results(direction(options[:reverse]), id, spec, options)

      # The function of `:fyris` for a direction.
      defp direction(false), do: :select
      defp direction(true), do: :select_reverse
      defp direction(other), do: raise(ArgumentError, "reverse: is true or false, not #{inspect(other)}")

      # What a query of this name finds, the first `limit:` of it if that is given.
      defp results(query, id, what, options) do
        case Keyword.fetch(options, :limit) do
          {:ok, limit} -> limited(query, apply(:fyris, query, [id, what, at_once(limit)]), limit)
          :error -> apply(:fyris, query, [id, what])
        end
      end

      # What is no limit is left to be refused.
      defp at_once(limit) when is_integer(limit), do: min(limit, 500)
      defp at_once(limit), do: limit

      defp limited(_, :"$end_of_table", _), do: []

      defp limited(query, {results, place}, limit) do
        case limit - length(results) do
          left when left > 0 -> results ++ limited(query, apply(:fyris, query, [place]), left)
          _ -> Enum.take(results, limit)
        end
      end

      @doc """
      What a match specification makes of the objects, as a stream of its results, as `select/3` returns them: read
      `chunk:` at a time, 500 unless it says otherwise, as they are asked for. It shows the table as it was when it
      began to run (one made with `consistent: false` as it is at each step), and keeps that until it ends. Options:
      `chunk:`, `limit:`, `reverse:`. Raises `ArgumentError` for others, and when it is run if there is no such table.

          iex> table = Fyris.new!(type: :ordered_set)
          iex> Fyris.insert!(table, for(n <- 1..1000, do: {n, n * n}))
          iex> table |> Fyris.stream_select([{{:"$1", :"$2"}, [], [:"$2"]}], chunk: 10) |> Enum.take(3)
          [1, 4, 9]
      """
      @spec stream_select(table, :ets.match_spec(), [limit | {:reverse, boolean} | {:chunk, pos_integer}]) ::
              Enumerable.t()
      def stream_select(table, spec, options \\ []) do
        options = Options.validate!(options, [:limit, chunk: 500, reverse: false])
        stream_results(direction(options[:reverse]), table, spec, options)
      end

      @doc """
      What the variables of a pattern stand for, as a stream of lists, as `match/3` returns them; otherwise as
      `stream_select/3`, without `reverse:`.

          iex> table = Fyris.new!(type: :ordered_set)
          iex> Fyris.insert!(table, for(n <- 1..1000, do: {n, rem(n, 2)}))
          iex> table |> Fyris.stream_match({:"$1", 0}) |> Enum.take(3)
          [[2], [4], [6]]
      """
      @spec stream_match(table, :ets.match_pattern(), [limit | {:chunk, pos_integer}]) :: Enumerable.t()
      def stream_match(table, pattern, options \\ []) do
        stream_results(:match, table, pattern, Options.validate!(options, [:limit, chunk: 500]))
      end

      @doc """
      The objects that match a pattern, as a stream, as `match_object/3` returns them; otherwise as `stream_select/3`,
      without `reverse:`.

          iex> table = Fyris.new!(type: :ordered_set)
          iex> Fyris.insert!(table, for(n <- 1..1000, do: {n, rem(n, 2)}))
          iex> table |> Fyris.stream_match_object({:_, 0}, limit: 2) |> Enum.to_list()
          [{2, 0}, {4, 0}]
      """
      @spec stream_match_object(table, :ets.match_pattern(), [limit | {:chunk, pos_integer}]) ::
              Enumerable.t()
      def stream_match_object(table, pattern, options \\ []) do
        stream_results(:match_object, table, pattern, Options.validate!(options, [:limit, chunk: 500]))
      end

      defp stream_results(query, table, what, options) do
        for name <- [:chunk, :limit], {:ok, number} <- [Keyword.fetch(options, name)] do
          unless is_integer(number) and number > 0 do
            raise ArgumentError, "#{name}: is a positive integer, not #{inspect(number)}"
          end
        end

        case {options[:chunk], options[:limit]} do
          {chunk, nil} -> Table.chunks(query, id(table), what, chunk)
          {chunk, limit} -> query |> Table.chunks(id(table), what, min(chunk, limit)) |> Stream.take(limit)
        end
      end

      defbang match(table :: table, pattern :: :ets.match_pattern(), options :: [limit] \\ []) :: [[term]],
              """
              Returns for each object that matches a pattern the list of what its variables (`:"$1"` and so on) stand
              for, in the order of their numbers; `:_` matches anything. With `limit:` the first of them, as they were
              at one moment; else consistency and visits are those of `select/3`.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}, {:c, 1}])|,
                ~S|Fyris.match!(table, {:"$1", 1})|,
                ~S|[[:a], [:c]]|
              ] do
        results(:match, id(table), pattern, Options.validate!(options, [:limit]))
      end

      defbang match_object(
                table :: table,
                pattern :: :ets.match_pattern(),
                options :: [limit] \\ []
              ) :: [object],
              """
              Returns the objects that match a pattern, as `match/3` knows them, with its options. Consistency and
              visits are those of `select/3`.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}, {:c, 1}])|,
                ~S|Fyris.match_object!(table, {:_, 1}, limit: 1)|,
                ~S|[a: 1]|
              ] do
        results(:match_object, id(table), pattern, Options.validate!(options, [:limit]))
      end

      defbang match_delete(table :: table, pattern :: :ets.match_pattern()) :: :ok,
              """
              Deletes the objects that match a pattern, as `match/3` knows them. Each is deleted atomically, if it still
              matches; all in one step only with the pattern `:_`. Visits those that `match/3` would.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}, {:c, 1}])|,
                ~S|Fyris.match_delete!(table, {:_, 1})|,
                ~S|Enum.to_list(table)|,
                ~S|[b: 2]|
              ] do
        true = :fyris.match_delete(id(table), pattern)
        :ok
      end

      defbang select_delete(table :: table, spec :: :ets.match_spec()) :: non_neg_integer,
              """
              Deletes the objects of which a match specification says `true`, and returns their number. Each is deleted
              atomically, if it still matches; all in one step only where every object is meant. Visits those that
              `select/3` would.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
                ~S|Fyris.select_delete!(table, [{{:_, :"$1"}, [{:>, :"$1", 1}], [true]}])|,
                ~S|1|
              ] do
        :fyris.select_delete(id(table), spec)
      end

      defbang select_replace(table :: table, spec :: :ets.match_spec()) :: non_neg_integer,
              """
              Replaces each object that matches by what a match specification makes of it, and returns their number.
              Each is replaced atomically, the whole is not one step. A specification that does not keep the key as it
              is, is an error, as is a bag, and changes nothing. Visits those that `select/3` would.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
                ~S|Fyris.select_replace!(table, [{{:"$1", :"$2"}, [], [{{:"$1", {:*, :"$2", 10}}}]}])|,
                ~S|Enum.to_list(table)|,
                ~S|[a: 10, b: 20]|
              ] do
        :fyris.select_replace(id(table), spec)
      end

      defbang select_replace_returning(table :: table, spec :: :ets.match_spec()) :: [object],
              """
              Replaces objects as `select_replace/2` does, and returns the new ones, in an `:ordered_set` in the order
              of their keys.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{1, :due}, {2, :later}, {3, :due}])|,
                ~S|Fyris.select_replace_returning!(table, [{{:"$1", :due}, [], [{{:"$1", :claimed}}]}])|,
                ~S|[{1, :claimed}, {3, :claimed}]|
              ] do
        :fyris.select_replace_returning(id(table), spec)
      end

      defbang select_take(table :: table, spec :: :ets.match_spec()) :: [term],
              """
              Deletes the objects that match, and returns what a match specification makes of them, in an `:ordered_set`
              in the order of their keys. Each is deleted atomically, and goes to one of several callers; the whole is
              not one step. If the table goes away half-way, what was taken until then is returned.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{1, :due}, {2, :later}, {3, :due}])|,
                ~S|Fyris.select_take!(table, [{{:"$1", :due}, [], [:"$1"]}])|,
                ~S|[1, 3]|
              ] do
        :fyris.select_take(id(table), spec)
      end

      defbang count(table :: table, spec :: :ets.match_spec()) :: non_neg_integer,
              """
              Returns the number of objects of which a match specification says `true`; visits those that `select/3`
              would.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
                ~S|Fyris.count!(table, [{{:_, :"$1"}, [{:>, :"$1", 1}], [true]}])|,
                ~S|1|
              ] do
        :fyris.select_count(id(table), spec)
      end

      defbang explain(table :: table, spec :: :ets.match_spec()) :: map,
              """
              Returns how a `select` would find its objects (`:kind`, `:plan`), about how many it would visit
              (`:estimated`), and how many there are (`:size`); `:secondary` is the secondary index that finds them, if
              one does. Visits no more than 256 to say so.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.explain!(table, [{{:a, :_}, [], [:"$_"]}])|,
                ~S|%{estimated: 1, kind: :point, plan: %{access: :point, bounds: [key: :a]}, size: 0}|
              ] do
        :fyris.explain(id(table), spec)
      end
    end
  end
end

defmodule Fyris.Verbs.Queries do
  @moduledoc false
  # The functions of `Fyris` for objects by what they are.

  defmacro __using__(_) do
    quote location: :keep do
      defbang select(table :: table, spec :: :ets.match_spec()) :: [term],
              """
              Returns what a match specification makes of the objects. If it visits more than 512, it sees them as they
              were at one moment; else it visits each that is there throughout once, and perhaps others. If it names
              keys, or a range of them in an `:ordered_set`, no others are visited (`explain/2`).
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
                ~S|Fyris.select!(table, [{{:"$1", :"$2"}, [{:>, :"$2", 1}], [:"$1"]}])|,
                ~S|[:b]|
              ] do
        :fyris.select(id(table), spec)
      end

      defbang count(table :: table, spec :: :ets.match_spec()) :: non_neg_integer,
              """
              Returns the number of objects of which a match specification says `true`; visits those that `select/2`
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

defmodule Fyris.Verbs.Pairs do
  @moduledoc false
  # The functions of `Fyris` for tables of pairs.

  defmacro __using__(_) do
    quote location: :keep do
      @doc """
      Returns the value of a key in a table of pairs: `{:ok, value}`, or `:error` if it has none. Linearizable. O(1) on
      average, O(log n) in an `:ordered_set`. Raises `ArgumentError` if there is no such table, for an object that is no
      pair, and for a key of a bag that has several, as `fetch!/2` and `get/3` do.

          iex> table = Fyris.new!()
          iex> Fyris.put!(table, :joe, 1)
          iex> {Fyris.fetch(table, :joe), Fyris.fetch(table, :ann)}
          {{:ok, 1}, :error}
      """
      @spec fetch(table, key) :: {:ok, term} | :error
      def fetch(table, key) do
        case :fyris.lookup(id(table), key) do
          [object] ->
            {:ok, value(object, key)}

          [] ->
            :error

          several ->
            raise ArgumentError,
                  "#{length(several)} objects have the key #{inspect(key)}: lookup/2 returns them"
        end
      end

      defp value({its, value}, key) when its == key, do: value
      # The key may be the second element.
      defp value({value, its}, key) when its == key, do: value

      defp value(object, _) do
        raise ArgumentError, "an object of #{tuple_size(object)} elements is no pair of a key and a value"
      end

      @doc "Returns the value of a key; raises `KeyError` if it has none."
      @spec fetch!(table, key) :: term
      def fetch!(table, key) do
        case fetch(table, key) do
          {:ok, value} -> value
          :error -> raise KeyError, key: key, term: table
        end
      end

      @doc """
      Returns the value of a key, or a default, as `fetch/2` does.

          iex> table = Fyris.new!()
          iex> Fyris.get(table, :joe, 0)
          0
      """
      @spec get(table, key, term) :: term
      def get(table, key, default \\ nil) do
        case fetch(table, key) do
          {:ok, value} -> value
          :error -> default
        end
      end

      @doc "Returns whether there is an object with this key."
      @spec member?(table, key) :: boolean
      def member?(table, key), do: :fyris.member(id(table), key)

      defbang put(table :: table, key :: key, value :: term) :: :ok,
              """
              Puts a pair into a table, in the place of one with the same key: `{key, value}`, or `{value, key}` where
              the key is the second element. A bag, or a key further behind, is an error. Linearizable. O(1) on average,
              O(log n) in an `:ordered_set`.
              """,
              [~S|table = Fyris.new!()|, ~S|Fyris.put!(table, :joe, 1)|, ~S|:ok|] do
        true = :fyris.put(id(table), key, value)
        :ok
      end

      defbang put_new(table :: table, key :: key, value :: term) :: boolean,
              """
              Puts a pair into a table as `put/3` does, if the key is not there; returns whether it did. Atomic: of
              several callers one puts its value. O(1) on average, O(log n) in an `:ordered_set`.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.put!(table, :joe, 1)|,
                ~S|Fyris.put_new!(table, :joe, 2)|,
                ~S|false|
              ] do
        :fyris.put_new(id(table), key, value)
      end

      @doc """
      Takes a pair out and returns its value: `{:ok, value}`, or `:error` if the key has none. Atomic: of several
      callers one gets it. Raises `ArgumentError`, and takes nothing, for an object that is no pair, and for a bag:
      `take/2` has all objects of a key.

          iex> table = Fyris.new!()
          iex> Fyris.put!(table, :joe, 1)
          iex> {Fyris.pop(table, :joe), Fyris.pop(table, :joe)}
          {{:ok, 1}, :error}
      """
      @spec pop(table, key) :: {:ok, term} | :error
      def pop(table, key) do
        # What is no pair stays, and so do the objects of a key that may have several.
        if :fyris.info(id(table), :type) in [:bag, :duplicate_bag] do
          raise ArgumentError, "a key of a bag has any number of values: take/2 returns its objects"
        end

        with {:ok, _} <- fetch(table, key),
             [object] <- :fyris.take(id(table), key) do
          {:ok, value(object, key)}
        else
          _ -> :error
        end
      end

      defbang update(table :: table, key :: key, default :: term, fun :: (term -> term)) :: term,
              """
              If the key is there, puts `fun.(value)`; if not, puts `default` itself (as `Map.update/4`). Returns the
              new value. Atomic: `fun` is called again when another writer comes between, so it should do nothing else.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.put!(table, :joe, 1)|,
                ~S|Fyris.update!(table, :joe, 0, &(&1 + 1))|,
                ~S|2|
              ] do
        of_one(fun)

        {_, value} =
          :fyris.upsert(id(table), key, {key, default}, fn object -> {key, fun.(value(object, key))} end)

        value
      end

      # A function of one argument: looked at before it is known whether it is called.
      defp of_one(fun) when is_function(fun, 1), do: fun
      defp of_one(fun), do: raise(ArgumentError, "not a function of one argument: #{inspect(fun)}")
    end
  end
end

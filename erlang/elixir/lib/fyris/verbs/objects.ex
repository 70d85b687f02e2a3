defmodule Fyris.Verbs.Objects do
  @moduledoc false
  # The functions of `Fyris` for objects by their keys.

  defmacro __using__(_) do
    quote location: :keep do
      defbang insert(table :: table, objects :: object | [object]) :: :ok,
              """
              Inserts an object, or all of a list in one step, which every reader sees whole. O(1) on average, O(log n)
              in an `:ordered_set`, for each.
              """,
              [~S|table = Fyris.new!()|, ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2, :more}])|, ~S|:ok|] do
        true = :fyris.insert(id(table), objects)
        :ok
      end

      defbang insert_new(table :: table, objects :: object | [object]) :: boolean,
              """
              Inserts as `insert/2` does if none of the keys is there; returns whether it did. Atomic, also of a list.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:a, 1})|,
                ~S|Fyris.insert_new!(table, [{:a, 2}, {:b, 2}])|,
                ~S|false|
              ] do
        :fyris.insert_new(id(table), objects)
      end

      defbang lookup(table :: table, key :: key) :: [object],
              """
              Returns the objects with a key: none or one, in the bags any number. Linearizable. O(1) on average, O(log
              n) in an `:ordered_set`, and the size of the objects, which are built anew.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:a, 1})|,
                ~S|Fyris.lookup!(table, :a)|,
                ~S|[{:a, 1}]|
              ] do
        :fyris.lookup(id(table), key)
      end

      defbang lookup_many(table :: table, keys :: [key]) :: [[object]],
              """
              Returns the objects of many keys: a list for each. As many lookups, with their memory asked for together.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
                ~S|Fyris.lookup_many!(table, [:b, :c])|,
                ~S|[[{:b, 2}], []]|
              ] do
        :fyris.lookup_many(id(table), keys)
      end

      defbang lookup_by(table :: table, index :: atom, value :: term) :: [object],
              """
              Returns the objects that have a value by a secondary index, an option `secondary:` of the table, in the
              order of their keys. Values are compared by `===`. If it visits more than 512 objects, it sees them as
              they were at one moment. O(log n), and the objects.
              """,
              [
                ~S|table = Fyris.new!(secondary: [by_city: {:element, 3}, by_year: {:path, [2, :born]}])|,
                ~S|Fyris.insert!(table, [{:ada, %{born: 1815}, :london}, {:alan, %{born: 1912}, :london}])|,
                ~S|Fyris.lookup_by!(table, :by_year, 1912)|,
                ~S|[{:alan, %{born: 1912}, :london}]|
              ] do
        :fyris.lookup_by(id(table), index, value)
      end

      defbang add_secondary(table :: table, index :: atom, value :: tuple) :: :ok,
              """
              Adds a secondary index to a table, which may be in use, as the option `secondary:` would have made it.
              Others read and write meanwhile. O(n log n), on a dirty scheduler.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, [{:ada, :london}, {:emmy, :erlangen}])|,
                ~S|Fyris.add_secondary!(table, :by_city, {:element, 2})|,
                ~S|Fyris.lookup_by!(table, :by_city, :erlangen)|,
                ~S|[{:emmy, :erlangen}]|
              ] do
        true = :fyris.add_secondary(id(table), index, value)
        :ok
      end

      defbang remove_secondary(table :: table, index :: atom) :: :ok,
              """
              Removes a secondary index. Costs what adding it does.
              """,
              [
                ~S|table = Fyris.new!(secondary: [by_city: {:element, 3}])|,
                ~S|Fyris.remove_secondary!(table, :by_city)|,
                ~S|:ok|
              ] do
        true = :fyris.remove_secondary(id(table), index)
        :ok
      end

      defbang lookup_element(table :: table, key :: key, position :: pos_integer) :: term | [term],
              """
              Returns an element of the object with a key, from 1; in the bags a list of that element of each object. A
              key that is not there is an error, as is a position beyond the object. Other elements are not built.
              Linearizable. O(1) on average, O(log n) in an `:ordered_set`.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:joe, 41, "Paris"})|,
                ~S|Fyris.lookup_element!(table, :joe, 3)|,
                ~S|"Paris"|
              ] do
        :fyris.lookup_element(id(table), key, position)
      end

      defbang lookup_element(table :: table, key :: key, position :: pos_integer, default :: term) ::
                term | [term],
              """
              Returns an element as `lookup_element/3` does, or the default if no object has the key. A position beyond
              an object that is there is still an error.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.lookup_element!(table, :joe, 3, :unknown)|,
                ~S|:unknown|
              ] do
        :fyris.lookup_element(id(table), key, position, default)
      end

      defbang get_in_object(table :: table, key :: key, path :: [term]) :: term | nil,
              """
              Returns a part of an object, or `nil`, without building the rest: `path` begins with a position, from 1,
              then come keys of maps and positions. Linearizable.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:joe, %{age: 41, name: "Joe"}})|,
                ~S|Fyris.get_in_object!(table, :joe, [2, :age])|,
                ~S|41|
              ] do
        case :fyris.get_in(id(table), key, path) do
          {:ok, part} -> part
          :error -> nil
        end
      end

      defbang put_in_object(table :: table, key :: key, path :: [term], value :: term) :: boolean,
              """
              Puts a value where a path of `get_in_object/3` leads to; a map need not have the last key. Returns whether
              there is an object. It is an error if the object does not have another step of the path, if that leads to
              the object's key, and for a bag. Atomic.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:joe, %{age: 41}})|,
                ~S|Fyris.put_in_object!(table, :joe, [2, :name], "Joe")|,
                ~S|Fyris.lookup!(table, :joe)|,
                ~S|[{:joe, %{age: 41, name: "Joe"}}]|
              ] do
        :fyris.put_in(id(table), key, path, value)
      end

      defbang update_in_object(
                table :: table,
                key :: key,
                path :: [term],
                default :: term,
                fun :: (term -> term)
              ) :: term | nil,
              """
              Puts `fun` of a part of an object in its place, or the default into a map that does not have the last key
              of the path; returns the new part, `nil` if there is no object. Atomic: `fun` is called again when another
              writer comes between, so it should do nothing else. Otherwise as `put_in_object/4`.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:joe, %{age: 41}})|,
                ~S|Fyris.update_in_object!(table, :joe, [2, :age], 0, &(&1 + 1))|,
                ~S|42|
              ] do
        case :fyris.update_in(id(table), key, path, of_one(fun), default) do
          {:ok, part} -> part
          :error -> nil
        end
      end

      defbang delete_in_object(table :: table, key :: key, path :: [term]) :: term | nil,
              """
              Takes a part of an object away, a key of a map with its value or an element of a list, and returns it;
              `nil` if there is none. An element of a tuple is an error. Otherwise as `put_in_object/4`.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:joe, %{age: 41, name: "Joe"}})|,
                ~S|Fyris.delete_in_object!(table, :joe, [2, :age])|,
                ~S|41|
              ] do
        case :fyris.delete_in(id(table), key, path) do
          {:ok, part} -> part
          :error -> nil
        end
      end

      defbang delete(table :: table, key :: key) :: :ok,
              """
              Deletes the objects with a key, if there are any. Linearizable. O(1) on average, O(log n) in an
              `:ordered_set`.
              """,
              [~S|table = Fyris.new!()|, ~S|Fyris.delete!(table, :a)|, ~S|:ok|] do
        true = :fyris.delete(id(table), key)
        :ok
      end

      defbang delete_object(table :: table, object :: object) :: :ok,
              """
              Deletes the objects that are exactly (`===`) this one, if there are any; other objects of the key stay.
              Atomic. O(1) on average, O(log n) in an `:ordered_set`; in the bags O(log^2 n) for n objects of the key.
              """,
              [
                ~S|table = Fyris.new!(type: :bag)|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:a, 2}])|,
                ~S|Fyris.delete_object!(table, {:a, 1})|,
                ~S|Enum.to_list(table)|,
                ~S|[a: 2]|
              ] do
        true = :fyris.delete_object(id(table), object)
        :ok
      end

      defbang take(table :: table, key :: key) :: [object],
              """
              Takes the objects with a key out and returns them. Atomic: of several callers one gets them.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:a, 1})|,
                ~S|Fyris.take!(table, :a)|,
                ~S|[{:a, 1}]|
              ] do
        :fyris.take(id(table), key)
      end

      defbang take_many(table :: table, keys :: [key]) :: [[object]],
              """
              Takes the objects with all of these keys out and returns a list for each key, in one atomic and isolated
              step.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, [{:a, 1}, {:b, 2}])|,
                ~S|Fyris.take_many!(table, [:b, :c])|,
                ~S|[[{:b, 2}], []]|
              ] do
        :fyris.take_many(id(table), keys)
      end

      defbang clear(table :: table) :: :ok,
              """
              Empties a table in one step. O(1) for the caller.
              """,
              [~S|table = Fyris.new!()|, ~S|Fyris.clear!(table)|, ~S|:ok|] do
        true = :fyris.delete_all_objects(id(table))
        :ok
      end

      defbang drain(table :: table) :: [object],
              """
              Takes all objects out and returns them. Each goes to one of several callers; one that is inserted
              meanwhile is returned or stays.
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Fyris.insert!(table, [{:b, 2}, {:a, 1}])|,
                ~S|Fyris.drain!(table)|,
                ~S|[{:a, 1}, {:b, 2}]|
              ] do
        :fyris.drain(id(table))
      end

      defbang compare_and_swap(table :: table, old :: object, new :: object) :: boolean,
              """
              Replaces an object if exactly `old` is there; returns whether it did. Atomic.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:a, 1})|,
                ~S|Fyris.compare_and_swap!(table, {:a, 1}, {:a, 2})|,
                ~S|true|
              ] do
        :fyris.compare_and_swap(id(table), old, new)
      end

      defbang update_counter(
                table :: table,
                key :: key,
                operation :: counter_op,
                default :: object | nil \\ nil
              ) ::
                integer | [integer],
              """
              Adds to integers of an object in one step and returns the new ones; `default` is the object for a key that
              is not there. Atomic.
              """,
              [~S|table = Fyris.new!()|, ~S|Fyris.update_counter!(table, :hits, {2, 3}, {:hits, 0})|, ~S|3|] do
        case default do
          nil -> :fyris.update_counter(id(table), key, operation)
          _ -> :fyris.update_counter(id(table), key, operation, default)
        end
      end

      defbang update_element(
                table :: table,
                key :: key,
                changes :: {pos_integer, term} | [{pos_integer, term}],
                default :: object | nil \\ nil
              ) :: boolean,
              """
              Replaces elements of the object with a key, `{position, value}` or a list of these, in one step; returns
              whether there is one. `default` is the object for a key that is not there. A position that is that of the
              key or is not there is an error, as is a bag, and changes nothing. Atomic. O(1) on average, O(log n) in an
              `:ordered_set`.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|Fyris.insert!(table, {:joe, 41, "Paris"})|,
                ~S|Fyris.update_element!(table, :joe, [{2, 42}, {3, "Rome"}])|,
                ~S|true|
              ] do
        case default do
          nil -> :fyris.update_element(id(table), key, changes)
          _ -> :fyris.update_element(id(table), key, changes, default)
        end
      end
    end
  end
end

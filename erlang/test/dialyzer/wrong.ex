defmodule Wrong do
  # Calls that dialyzer has to find wrong: one in each function (../dialyzer.sh). Those of the functions `beyond_...` it
  # cannot find, as it keeps few kinds of pairs apart; Fyris refuses them before anything is changed.

  def beyond_unknown_option, do: Fyris.new!(typ: :set)

  def beyond_type_that_is_none, do: Fyris.new!(type: :sett)

  def options_as_a_map, do: Fyris.new!(%{type: :set})

  def option_without_a_value, do: Fyris.new!([:ordered_set])

  def name_that_is_no_atom, do: Fyris.open!("cache")

  def table_by_a_string, do: Fyris.put("cache", :key, 1)

  def table_in_a_tuple, do: Fyris.get({:ok, :cache}, :key)

  def heir_that_is_no_process, do: Fyris.give_away!(:cache, :other, :data)

  def object_that_is_no_tuple, do: Fyris.insert!(:cache, [:a, :b])

  def object_that_is_a_map, do: Fyris.insert_new!(:cache, %{a: 1})

  def keys_that_are_no_list, do: Fyris.lookup_many!(:cache, :key)

  def counter_by_a_float, do: Fyris.update_counter!(:cache, :hits, 1.5)

  def default_that_is_no_object, do: Fyris.update_counter!(:cache, :hits, 1, 0)

  def update_by_a_value, do: Fyris.update!(:cache, :hits, 0, 1)

  def update_by_two_arguments, do: Fyris.update!(:cache, :hits, 0, fn a, b -> a + b end)

  def path_that_is_no_list, do: Fyris.get_in_object!(:cache, :key, 2)

  def bound_mistyped, do: Fyris.range!(:cache, form: 5)

  def beyond_limit_of_zero, do: Fyris.range!(:cache, from: 1, limit: 0)

  def beyond_reverse_in_words, do: Fyris.stream(:cache, reverse: :yes)

  def limit_of_a_take, do: Fyris.take_range!(:cache, limit: 1)

  def reversed_take, do: Fyris.take_range!(:cache, reverse: true)

  def bound_of_a_prefix, do: Fyris.prefix!(:cache, "jo", from: "joe")

  def direction_of_a_seek, do: Fyris.seek!(:cache, 1, :next)

  def negative_place, do: Fyris.nth!(:cache, -1)

  def value_of_a_secondary_index, do: Fyris.add_secondary!(:cache, :by_name, :name)

  def transaction_without_an_argument, do: Fyris.transaction(fn -> :ok end)

  def option_of_a_transaction, do: Fyris.transaction(fn _ -> :ok end, retry: 3)

  def operation_that_is_no_list, do: Fyris.write_batch({:insert, :cache, {:a, 1}})

  def pattern_that_is_no_specification, do: Fyris.select!(:cache, "pattern")

  def what_is_watched, do: Fyris.subscribe!(:cache, :everything)

  def option_of_a_subscription, do: Fyris.subscribe!(:cache, :all, form: :snapshot)

  def answer_that_never_comes do
    case Fyris.fetch(:cache, :key) do
      nil -> :absent
    end
  end

  def error_that_is_raised do
    case Fyris.put!(:cache, :key, 1) do
      {:error, reason} -> reason
    end
  end
end

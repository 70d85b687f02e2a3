defmodule Wrong do
  # Calls that dialyzer has to find wrong: one in each function (../dialyzer.sh). Those of the functions `beyond_...` it
  # cannot find, as it keeps few kinds of pairs apart; Fyris refuses them before anything is changed.
  import Fyris.MatchSpec

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

  def limit_mistyped, do: Fyris.select!(:cache, [], limt: 3)

  def limit_without_a_name, do: Fyris.select!(:cache, [], 3)

  def match_in_reverse, do: Fyris.match!(:cache, :_, reverse: true)

  def pattern_that_is_text, do: Fyris.match_object!(:cache, "name")

  def specification_as_a_pattern, do: Fyris.match!(:cache, fun(fn {key, _} -> key end))

  def stream_of_a_pattern, do: Fyris.stream_select(:cache, {:"$1", :_})

  def chunk_mistyped, do: Fyris.stream_match(:cache, :_, chunks: 3)

  def delete_by_a_function, do: Fyris.select_delete!(:cache, fn {_, n} -> n > 3 end)

  def replace_by_a_pattern, do: Fyris.select_replace!(:cache, :_)

  def limit_of_a_delete, do: Fyris.delete_range!(:cache, limit: 1)

  def object_by_its_key, do: Fyris.delete_object!(:cache, :key)

  def element_by_its_name, do: Fyris.lookup_element!(:cache, :key, :name)

  def element_from_zero, do: Fyris.lookup_element!(:cache, :key, 0, nil)

  def elements_as_a_map, do: Fyris.update_element!(:cache, :key, %{2 => :value})

  def end_that_is_an_atom do
    case Fyris.first!("cache") do
      :"$end_of_table" -> nil
      key -> key
    end
  end

  def keys_of_a_string, do: Fyris.keys("cache")

  def name_that_is_text, do: Fyris.rename!(:cache, "store")

  def option_of_a_save, do: Fyris.save!(:cache, "cache.tab", fast: true)

  def path_that_is_an_atom, do: Fyris.load!(:cache)

  def option_of_a_load, do: Fyris.load!("cache.tab", sync: true)

  def memory_of_a_string, do: Fyris.memory("cache")

  def id_of_a_string, do: Fyris.Table.id("cache")

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

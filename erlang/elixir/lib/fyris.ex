defmodule Fyris do
  @moduledoc """
  Tables in memory, shared by processes: ETS and more, for Elixir.

      table = Fyris.new!(type: :ordered_set)
      Fyris.put!(table, :joe, 1)
      {:ok, 1} = Fyris.fetch(table, :joe)
      Enum.count(table)
      table |> Fyris.stream(from: :a, to: :m) |> Enum.to_list()

  ## Objects and pairs

  A table holds tuples, called objects; one element is the key, the first unless `keypos:` says otherwise.
  `insert`, `lookup`, `take` and the rest work with objects. `put`, `fetch`, `get` and `pop` take a
  table of pairs `{key, value}` as what it looks like: a map that many share.

  ## Two of each

  A call that can fail has two forms. `insert/2` answers `:ok`, `{:ok, result}` or `{:error, %Fyris.Error{}}`;
  `insert!/2` answers the result, or raises that error. Calls that have one form (`fetch!/2`, `get/3`, `member?/2`,
  streams, `Enum`) raise `ArgumentError` where there is no such table; `info/1`, `size/1` and `memory/1` answer `nil`
  there. What can never be right, as an option that a function does not have, raises `ArgumentError` in both forms.

  ## Tables are collections

  `Enum` and `Stream` take a table: a run over it shows it as it was at one moment, in the order of keys in an
  `:ordered_set` (one made with `consistent: false` as it is at each step). `Enum.into/2` fills one.

  ## Match specifications

  `Fyris.MatchSpec.fun/1` writes those of `select/3`, `count/2`, `select_delete/2` and the rest as functions.

  ## Who owns a table

  The process that makes it, until it ends. `{Fyris, name: :cache}` under a supervisor starts a process that does
  nothing but own one; `owner: :none` makes a table that stays until it is deleted, public unless `access:`
  says otherwise.
  """

  import Fyris.Defbang
  import Fyris.Table, only: [id: 1]
  alias Fyris.Table

  @typedoc "A table, or the name of one."
  @type table :: Table.t() | atom
  @type key :: term
  @type object :: tuple
  @typedoc """
  `name:` (then other processes find the table by it), `type:` (`:set`, `:ordered_set`, `:bag`,
  `:duplicate_bag`), `access:` (`:public`, `:protected`, `:private`), `keypos:` (from 1), `heir:`
  (`{pid, data}` or `:none`), `owner:` (`:none`), `compressed:` (a boolean), `index:` (a name, or `{:library, path}`);
  `secondary:` (a keyword list of secondary indexes, each `{:element, position}`, `{:path, [position, step, ...]}` or
  `{:body, expressions}`: `lookup_by/3`; or `{:unique, one_of_these}`: then a value is one object's);
  `write_concurrency:`, `read_concurrency:` and the rest as `:fyris.new/2` has them.
  """
  @type options :: [option]
  @type option ::
          {:name, atom}
          | {:type, :set | :ordered_set | :bag | :duplicate_bag}
          | {:access, :public | :protected | :private}
          | {:keypos, pos_integer}
          | {:heir, {pid, term} | :none}
          | {:owner, :none}
          | {:compressed, boolean}
          | {:index, atom | {:library, charlist | binary}}
          | {:secondary, [{atom, term}]}
          | {:write_concurrency, boolean | :auto}
          | {:read_concurrency | :decentralized_counters, boolean}
          | {:bucket_locks, pos_integer | :auto}
          | {:reader_groups, pos_integer}
          | {:consistent, boolean}
          | {:snapshot_ttl, pos_integer | :infinity}
  @typedoc "An end of a range: `from:` and `to:` count, `above:` and `below:` do not. Without one it is open."
  @type range_end :: {:from | :to | :above | :below, key}
  @typedoc "Of what was found the first `limit:`, in descending order with `reverse: true`, keys with `keys: true`."
  @type range_form :: {:limit, pos_integer} | {:reverse | :keys, boolean}
  @typedoc "So many at most."
  @type limit :: {:limit, pos_integer}
  @type save_option :: {:extended_info, [:object_count | :md5sum]} | {:sync, boolean}
  @type load_option :: {:verify, boolean} | {:max_inflated, non_neg_integer}
  @typedoc """
  The changes to be told of: `:all`, `{:key, key}`, `{:range, from, to}` (both count, `:_` leaves an end open),
  `{:pattern, pattern}` or a match specification.
  """
  @type watched ::
          :all | {:key, key} | {:range, key, key} | {:pattern, :ets.match_pattern()} | :ets.match_spec()
  @typedoc """
  What a subscription tells: `{:changes, changes}` of one call or transaction, each `{:insert, table, new}`,
  `{:update, table, old, new}` or `{:delete, table, old}`; `{:cleared, table, n}`; `{:deleted, table}`;
  `{:overflow, lost}` where so many changes, at most, did not fit into the queue; `{:objects, table, objects}` and
  `:current` of a snapshot. A table is the `Fyris.Table.id/1` of it.
  """
  @type event :: :fyris.watch_event()
  @typedoc """
  An increment of the second element, or `{position, increment}`, `{position, increment, threshold, value}`, or a list.
  """
  @type counter_op :: integer | tuple | [tuple]

  # Each of these modules has functions of this one.
  use Fyris.Verbs.Tables
  use Fyris.Verbs.Transactions
  use Fyris.Verbs.Changes
  use Fyris.Verbs.Pairs
  use Fyris.Verbs.Objects
  use Fyris.Verbs.Queries
  use Fyris.Verbs.Order

  ## Supervision

  @doc """
  A process that owns a table, for a supervisor: `{Fyris, name: :cache, type: :set}`. `name:` is required. The table is
  public unless `access:` says otherwise.
  """
  @spec child_spec(options) :: Supervisor.child_spec()
  def child_spec(options) do
    name =
      Keyword.get(options, :name) || raise ArgumentError, "a table under a supervisor needs the option name:"

    %{id: {Fyris, name}, start: {Fyris.Owner, :start_link, [options]}}
  end
end

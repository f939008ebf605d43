/** One way to break the code, and the test that must then fail. */
export interface Mutant {
  name: string
  file: string
  /** The replaced text; it must be in the file exactly once. */
  from: string
  to: string
  /** The test that must fail: its file, and its name or the beginning of it. */
  test: { file: string; name: string }
  /** Whether that test needs a PostgreSQL server. */
  postgres?: true
}

const STORAGE = 'packages/core/src/storage'
const SQLITE_SUITE = 'packages/core/test/storage.sqlite.test.ts'
const GUARDS = 'packages/core/test/ledger/guards.test.ts'
const BOOKS = 'packages/core/test/ledger/ledger.test.ts'
const DECIDE = 'packages/core/src/rules/decide.ts'
const DECIDE_TEST = 'packages/core/src/rules/decide.test.ts'

/** The most important rules of money; the tests of the repository run these mutants. */
export const FIRST: readonly Mutant[] = [
  {
    name: 'decide ignores the available funds',
    file: DECIDE,
    from: 'available - required < -account.credit_limit',
    to: 'required < 0',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'the table accepts a second entry for a fact (SQLite)',
    file: 'packages/core/migrations/sqlite/0000_init.sql',
    from: 'CREATE UNIQUE INDEX `ledger_entries_reference`',
    to: 'CREATE INDEX `ledger_entries_reference`',
    test: { file: GUARDS, name: 'on SQLite the table itself books a fact once' },
  },
  {
    name: 'a purchase is changed without a check of its version',
    file: `${STORAGE}/stores/purchases.ts`,
    from: 'eq(t.id, id), eq(t.version, version)))',
    to: 'eq(t.id, id)))',
    test: { file: SQLITE_SUITE, name: 'changes a purchase only as it was read' },
  },
  {
    name: 'SQLite does not flush each commit',
    file: `${STORAGE}/sqlite/engine/connection.ts`,
    from: "durability === 'disk' ? 'FULL' : 'OFF'",
    to: "durability === 'disk' ? 'NORMAL' : 'OFF'",
    test: { file: SQLITE_SUITE, name: 'flushes every commit, also after its first statements' },
  },
]

/** All others. */
export const MORE: readonly Mutant[] = [
  {
    name: 'decide ignores the available funds, in its unit test',
    file: DECIDE,
    from: 'available - required < -account.credit_limit',
    to: 'false',
    test: { file: DECIDE_TEST, name: 'only with enough credits' },
  },
  {
    name: 'the table accepts a second entry for a fact (PostgreSQL)',
    file: 'packages/core/migrations/postgres/0000_init.sql',
    from: 'CREATE UNIQUE INDEX "ledger_entries_reference"',
    to: 'CREATE INDEX "ledger_entries_reference"',
    test: { file: GUARDS, name: 'on PostgreSQL the table itself books a fact once' },
    postgres: true,
  },
  {
    name: 'the table accepts a second end of a hold (SQLite)',
    file: 'packages/core/migrations/sqlite/0004_ledger.sql',
    from: 'CREATE UNIQUE INDEX `ledger_entries_resolves`',
    to: 'CREATE INDEX `ledger_entries_resolves`',
    test: { file: GUARDS, name: 'on SQLite the table itself ends a hold once' },
  },
  {
    name: 'the table accepts a second end of a hold (PostgreSQL)',
    file: 'packages/core/migrations/postgres/0004_ledger.sql',
    from: 'CREATE UNIQUE INDEX "ledger_entries_resolves"',
    to: 'CREATE INDEX "ledger_entries_resolves"',
    test: { file: GUARDS, name: 'on PostgreSQL the table itself ends a hold once' },
    postgres: true,
  },
  {
    name: 'the answer of a request is not stored with it (PostgreSQL)',
    file: `${STORAGE}/postgres/verbs/accept.ts`,
    from: 'tx.write(insertAnswers, plan.answers)',
    to: 'void insertAnswers',
    test: {
      file: 'packages/core/test/storage.postgres.test.ts',
      name: 'replays later, and after the storage was opened again',
    },
    postgres: true,
  },
  {
    name: 'a message is refunded again',
    file: 'packages/core/src/rules/money.ts',
    from: 'message.credits_used - message.credits_refunded',
    to: 'message.credits_used',
    test: { file: GUARDS, name: 'a message that got its credits back gets none again' },
  },
  {
    name: 'a refund is not stored on its message',
    file: 'packages/core/src/rules/money.ts',
    from: '  message.credits_refunded = units(message.credits_refunded + amount)\n',
    to: '',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'the daily limit of a workspace is ignored',
    file: DECIDE,
    from: 'return spent + required > limit',
    to: 'return spent + required < 0',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'the daily limit of a key is ignored',
    file: 'packages/core/src/rules/accept.ts',
    from: 'if (before + required > limit) {',
    to: 'if (before + required < 0) {',
    test: { file: SQLITE_SUITE, name: 'lets a key spend its limit to the last micro-credit' },
  },
  {
    name: 'the spent amount is not reset at the end of the day',
    file: DECIDE,
    from: 'return spent_on === day ? spent : (0 as Units)',
    to: 'return day < 0 && spent_on < 0 ? (0 as Units) : spent',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'a frozen workspace spends',
    file: DECIDE,
    from: "if (account.status !== 'active')",
    to: 'if (account.status === undefined)',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'a low balance is reported again and again',
    file: DECIDE,
    from: "availableOf(before) >= low_balance ? 'due' : before.low_state",
    to: "'due'",
    test: { file: DECIDE_TEST, name: 'is reported once' },
  },
  {
    name: 'the answer of a request is not stored with it (SQLite)',
    file: `${STORAGE}/sqlite/verbs/accept.ts`,
    from: 'for (const answer of plan.answers) insertAnswer(answer)',
    to: 'void insertAnswer',
    test: { file: SQLITE_SUITE, name: 'replays later, and after the storage was opened again' },
  },
  {
    name: 'a notification with any signature is accepted',
    file: 'packages/core/src/billing/notification-signature.ts',
    from: 'timingSafeEqual(Buffer.from(digest), expected)',
    to: 'timingSafeEqual(expected, expected) && digest.length > 0',
    test: {
      file: 'packages/core/src/billing/notification-signature.test.ts',
      name: 'refuses another secret’s',
    },
  },
  {
    name: 'suppressions are ignored',
    file: `${STORAGE}/sqlite/verbs/accept.ts`,
    from: 'findSuppressed(requests.flatMap(({ messages }) => messages))',
    to: 'findSuppressed([])',
    test: { file: SQLITE_SUITE, name: 'refuses a suppressed recipient and changes nothing' },
  },
  {
    name: 'a settled call is settled again',
    file: 'packages/core/src/rules/holds.ts',
    from: '  if (standing) {\n',
    to: '  if (standing && amount < 0) {\n',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'the rest of a hold stays held',
    file: 'packages/core/src/rules/holds.ts',
    from: 'held_delta: -hold.held_delta as Units,',
    to: 'held_delta: -1 as Units,',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'an expiry takes held or spent credits',
    file: 'packages/core/src/rules/lots.ts',
    from: 'return Math.min(remaining, Math.max(0, available)) as Units',
    to: 'return remaining',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'spending uses the lot that expires last',
    file: 'packages/core/src/rules/lots.ts',
    from: 'a.expires_at.getTime() - b.expires_at.getTime()',
    to: 'b.expires_at.getTime() - a.expires_at.getTime()',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'an adjustment makes the balance negative without --force',
    file: 'packages/core/src/credits/bookings.ts',
    from: 'if (amount < 0 && left < 0 && !force)',
    to: 'if (amount < 0 && left < 0 && force === undefined)',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'a refunded payment takes no credits back',
    file: 'packages/core/src/billing/sync-purchase.ts',
    from: 'return units(credits - Number(back))',
    to: 'return units(credits - 0 * Number(back))',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'any amount pays for a purchase',
    file: 'packages/core/src/billing/sync-purchase.ts',
    from: "return state.amount === amount ? null : 'amount_mismatch'",
    to: 'return state.amount === amount ? null : null',
    test: { file: BOOKS, name: 'the rules of the ledger keep its books' },
  },
  {
    name: 'ledger entries can be changed',
    file: 'packages/core/migrations/sqlite/0001_ledger_append_only.sql',
    from: 'BEFORE UPDATE ON',
    to: 'BEFORE UPDATE OF id ON',
    test: { file: SQLITE_SUITE, name: 'refuses to change or delete a ledger entry' },
  },
]

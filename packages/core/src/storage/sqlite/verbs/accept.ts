import { setImmediate as nextTurn } from 'node:timers/promises'
import { VARYING_AMONG_NEW } from '../../../rows/messages.ts'
import type { Tables } from '../../../rows/tables.ts'
import {
  type AcceptPlan,
  type AcceptRequest,
  type AcceptResult,
  type AcceptState,
  broadcastKey,
  fileKey,
  idempotencyKeyOf,
  isLarge,
  planAccept,
  type SpendingLimit,
  STEP_COLUMNS,
  slicesOf,
  spendingKey,
  weightOf,
} from '../../../rules/accept.ts'
import type { QueuePlan } from '../../../rules/claim.ts'
import { emptyCodeState } from '../../../rules/verify.ts'
import { inTurns } from '../../../runtime/in-turns.ts'

import { type ClockSteps, type GivenLanes, queueMessages } from '../../queueing.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareContents, type StoredContents } from '../engine/contents.ts'
import { insertAll, insertInto, selectFrom, updateOf } from '../engine/rows.ts'
import { addCounts, codeRows, creditRows, prepareFindSuppressed } from './shared-rows.ts'

/**
 * The verb `accept` on SQLite: look up, plan, write, inside the writer's transaction. The event loop gets turns between
 * slices of a large batch; the transaction stays open meanwhile, and the writer runs no other job in it.
 */
export function prepareAccept(
  connection: Connection,
  t: Tables,
  {
    steps,
    lanes,
    afterCommit,
    spilling,
  }: {
    steps: ClockSteps
    lanes: GivenLanes
    afterCommit: (work: () => void, undo: () => void) => void
    /** Runs a job that writes more than the commit should have to write. */
    spilling: <T>(job: () => Promise<T>) => Promise<T>
  },
) {
  const credits = creditRows(connection, t)
  const findAnswer = selectFrom(
    connection,
    t.idempotency_keys,
    ['request_hash', 'response'],
    'workspace_id = ? and route = ? and key = ?',
  )
  const findSuppressed = prepareFindSuppressed(connection)
  const findSpent = selectFrom(
    connection,
    t.api_key_spending,
    ['spent'],
    'workspace_id = ? and api_key_id = ? and day = ?',
  )
  const storeSpent = insertInto(connection, t.api_key_spending, { replacing: true })
  const findTestUsage = selectFrom(
    connection,
    t.test_usage,
    ['workspace_id', 'day', 'messages', 'bytes'],
    'workspace_id = ?',
  )
  const storeTestUsage = insertInto(connection, t.test_usage, { replacing: true })
  const findFile = selectFrom(
    connection,
    t.files,
    ['workspace_id', 'sha256'],
    'workspace_id = ? and sha256 = ? and is_whole = 1',
  )
  const insertFile = insertInto(connection, t.message_files)
  const markUsed = connection.prepare(
    `update files set unused_since = null
     where workspace_id = ? and sha256 = ? and unused_since is not null`,
  )
  const insertHold = insertInto(connection, t.credit_holds)
  const insertBulk = insertInto(connection, t.bulks)
  const insertRejections = insertAll(connection, t.bulk_rejections, [
    'position',
    'recipient',
    'error',
    'message',
  ])
  const insertAnswer = insertInto(connection, t.idempotency_keys)
  const contents = prepareContents(connection)
  const insertMessages = insertAll(connection, t.messages, VARYING_AMONG_NEW)
  const insertQueued = insertAll(connection, t.message_queue, ['message_id', 'due_at', 'set_at'])
  const journal = insertAll(connection, t.message_attempts, ['message_id', 'started_at'])
  const count = addCounts(connection)
  const codes = codeRows(connection, t)
  const findBroadcast = selectFrom(
    connection,
    t.broadcasts,
    ['status', 'cursor'],
    'workspace_id = ? and id = ?',
  )
  const advanceBroadcast = updateOf(connection, t.broadcasts, {
    key: ['workspace_id', 'id'],
    set: STEP_COLUMNS,
  })

  function lookUp(requests: readonly AcceptRequest[]): AcceptState {
    const state: AcceptState = {
      accounts: new Map(),
      answers: new Map(),
      suppressed: findSuppressed(requests.flatMap(({ messages }) => messages)),
      spent: new Map(),
      test_usage: new Map(),
      files: new Set(),
      codes: emptyCodeState(),
      broadcasts: new Map(),
    }
    for (const request of requests) {
      const { workspace_id, debit, idempotency } = request
      if (debit) credits.load(state.accounts, workspace_id)
      if (debit && request.spending) lookUpSpent(state, workspace_id, request.spending)
      if (request.test_use) lookUpTestUsage(state, workspace_id)
      const [message] = request.messages
      if (request.code && message) {
        codes.load(state.codes, request.code.verification, message)
      }
      for (const { workspace_id, sha256 } of request.files ?? []) {
        for (const file of findFile(workspace_id, sha256)) state.files.add(fileKey(file))
      }
      if (request.broadcast) {
        const { id } = request.broadcast
        const [found] = findBroadcast(workspace_id, id)
        if (found) state.broadcasts.set(broadcastKey({ workspace_id, id }), found)
      }
      if (!idempotency) continue
      const found = findAnswer(workspace_id, idempotency.route, idempotency.key)[0]
      if (found) state.answers.set(idempotencyKeyOf(workspace_id, idempotency), found)
    }
    return state
  }

  function lookUpSpent({ spent }: AcceptState, workspaceId: string, of: SpendingLimit): void {
    const found = findSpent(workspaceId, of.api_key_id, of.day)[0]
    if (found) spent.set(spendingKey(workspaceId, of), found.spent)
  }

  function lookUpTestUsage({ test_usage }: AcceptState, workspaceId: string): void {
    const found = findTestUsage(workspaceId)[0]
    if (found) test_usage.set(workspaceId, found)
  }

  /** Writes the rows of a plan except its messages, and plans their queue. */
  function writeFew(plan: AcceptPlan): QueuePlan {
    count(plan.counts)
    credits.store(plan.accounts, plan.entries)
    for (const hold of plan.holds) insertHold(hold)
    for (const bulk of plan.bulks) insertBulk(bulk)
    for (const spending of plan.spending) storeSpent(spending)
    for (const usage of plan.test_usage) storeTestUsage(usage)
    for (const answer of plan.answers) insertAnswer(answer)
    for (const verification of plan.verifications) codes.store(verification)
    for (const counts of plan.verification_counts) codes.count(counts)
    for (const spending of plan.verification_spending) codes.spend(spending)
    for (const step of plan.broadcasts) advanceBroadcast(step)
    for (const file of plan.files) {
      insertFile(file)
      markUsed.run(file.workspace_id, file.sha256)
    }
    const { handOver, release, ...queued } = queueMessages(
      plan.messages,
      lanes.current?.messages,
      steps,
    )
    afterCommit(handOver, release)
    return queued
  }

  function acceptAtOnce(requests: readonly AcceptRequest[]): AcceptResult[] {
    const plan = planAccept(requests, lookUp(requests))
    const { queue, attempts } = writeFew(plan)
    insertMessages(contents.store(plan.messages, new Map()))
    insertRejections(plan.rejections)
    insertQueued(queue)
    journal(attempts)
    return plan.results
  }

  /** In a turn of the event loop, no other job runs in the transaction, so the state stays valid. */
  async function acceptInTurns(requests: readonly AcceptRequest[]): Promise<AcceptResult[]> {
    const state = lookUp(requests)
    await nextTurn()
    const plan = planAccept(requests, state)
    await nextTurn()
    const { queue, attempts } = writeFew(plan)
    await nextTurn()
    const stored: StoredContents = new Map()
    // All contents come before the first message: the pages of the messages would be written to the log meanwhile, and
    // change again.
    const messages = await inTurns(slicesOf(plan.messages, weightOf), (slice) => {
      const rows = contents.store(slice, stored)
      if (stored.size > 0) contents.keepInMemory()
      return rows
    })
    await inTurns(slicesOf(messages.flat(), weightOf), insertMessages)
    await inTurns(slicesOf(plan.rejections), insertRejections)
    await inTurns(slicesOf(queue), insertQueued)
    await inTurns(slicesOf(attempts), journal)
    return plan.results
  }

  return (requests: readonly AcceptRequest[]): AcceptResult[] | Promise<AcceptResult[]> =>
    isLarge(requests) ? spilling(() => acceptInTurns(requests)) : acceptAtOnce(requests)
}

import type { AcceptRequest } from '../../../rules/accept.ts'
import { statement } from '../engine/database.ts'

/** SQL: the stored answers, as `i`, of the keys of requests, whose arrays `arraysOf` returns. */
export const ANSWERED = `unnest($1::text[], $2::text[], $3::text[]) r(workspace_id, route, key)
   join idempotency_keys i using (workspace_id, route, key)`

export const findAnswers = statement<{
  workspace_id: string
  route: string
  key: string
  request_hash: string
  response: string
}>(
  'find_answers',
  `select i.workspace_id, i.route, i.key, i.request_hash, i.response from ${ANSWERED}`,
)

export type Key = [string, string, string]

/** The key under which a request's answer is stored, if any. */
export function answeredKeyOf({ workspace_id, idempotency }: AcceptRequest): Key[] {
  return idempotency ? [[workspace_id, idempotency.route, idempotency.key]] : []
}

/** The columns of keys, as parameters. */
export function arraysOf(keys: readonly Key[]): string[][] {
  return [0, 1, 2].map((i) => keys.map((key) => key[i] as string))
}

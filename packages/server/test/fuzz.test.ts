import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { api, openapi } from '@svc/core/contract'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../test/all-cases.ts'
import { type Operation, operationsOf } from './fuzz-operations.ts'
import { type FuzzedRequest, requestsOf } from './fuzz-requests.ts'
import { type Stage, setStage } from './fuzz-stage.ts'
import { answerChecks, requestChecks } from './fuzz-validity.ts'
import { type Watch, watchDatabase } from './fuzz-watch.ts'
import { useWorld } from './world.ts'

/**
 * Repeatable: the failure message shows the seed and the path. For other or more cases:
 *
 *     SVC_FUZZ_SEED=42 SVC_FUZZ_OPERATIONS=100000 npx vitest run packages/server/test/fuzz.test.ts
 */
const SEED = Number(process.env.SVC_FUZZ_SEED ?? 20_260_504)
const ALL_REQUESTS = 18_000
const REQUESTS = Number(process.env.SVC_FUZZ_OPERATIONS ?? (RUNS_ALL_CASES ? ALL_REQUESTS : 2_800))

/** For a busy machine; an idle one needs a tenth. */
const RUN_MAX_MS = 60_000 + REQUESTS * 20

/** The statuses of the specification, except 500. */
const STATUSES = [200, 201, 400, 401, 402, 403, 404, 429]

/** Operations that hash a password cost as much as dozens of others. */
const HASHING = ['workspaces.signup', 'workspaces.login', 'workspaces.change_password']

/** Endpoints that random input cannot pass, or that find no work: without a failure, there is nothing to resend. */
const NEVER_IN = [
  'workspaces.login',
  'workspaces.verify_email',
  'workspaces.reset_password',
  'workspaces.change_password',
  'members.make_owner',
  'members.end_sessions',
  'sessions.end_with_password',
  'invitations.accept',
  // It would end the session of all later requests.
  'sessions.end_all',
  // No login has a link to an OIDC provider.
  'sessions.unlink',
  'bulks.retry',
  // No bulk is paused.
  'bulks.resume',
  // No domain is verified, because no name server answers.
  'domains.rotate',
]

/** Endpoints that answer 403 only where workspaces may not manage their domains. */
const NEVER_FORBIDDEN = ['domains.create', 'domains.delete', 'domains.rotate']

/** Endpoints that accept more than the document: one reports each fault of a list, the other needs only a signature. */
const LENIENT = ['contacts.import', 'billing.notify']

const document = openapi(api, { version: '1', url: 'http://127.0.0.1:3000' })
const operations = new Map(operationsOf(document).map((operation) => [operation.id, operation]))
const checkAnswer = answerChecks(document)
const checkRequest = requestChecks(document)

const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'))
const file = join(folder, 'svc.db')
const world = useWorld({ database_url: `file:${file}`, allow_http: false })
let stage: Stage
let watch: Watch
beforeAll(async () => {
  stage = await setStage(world())
  watch = watchDatabase(file)
})
afterAll(() => {
  watch.close()
  rmSync(folder, { recursive: true, force: true })
})

it(
  `${REQUESTS} requests made from the OpenAPI document: every answer matches it, and no refusal changes data`,
  async () => {
    const seen = new Set<string>()
    const requests = [...operations.values()].map((operation) => ({
      weight: weightOf(operation.id),
      arbitrary: requestsOf(operation, { document, ids: stage.ids, bodies: stage.bodies }),
    }))
    await fc.assert(
      fc.asyncProperty(fc.oneof(...requests), async (request) => {
        const status = await statusOf(request)
        seen.add(`${request.operation} ${status < 300 ? 'in' : status}`)
      }),
      { seed: SEED, numRuns: REQUESTS },
    )
    // A fuzz test whose requests are all refused early would find nothing. A short run misses some rare outcomes.
    const expected = [...operations.values()].flatMap(expectedOf)
    const unseen = expected.filter((one) => !seen.has(one))
    const unseen_max = REQUESTS < ALL_REQUESTS ? Math.floor(expected.length / 10) : 0
    expect(unseen.slice(unseen_max)).toStrictEqual([])
  },
  RUN_MAX_MS,
)

/** Sends have many outcomes, of which the rarest must appear too. */
function weightOf(id: string): number {
  if (HASHING.includes(id)) return 1
  return ['messages.send', 'bulks.send'].includes(id) ? 30 : 10
}

/** The status of an answer, after a check against the document and the specification. */
async function statusOf(request: FuzzedRequest): Promise<number> {
  const operation = operations.get(request.operation) as Operation
  const { path, options } = stage.callOf(operation, request)
  watch.begin()
  // Throws when the answer breaks a rule for all endpoints: envelope, rate headers, code.
  const answer = await world().call(operation.method, path, options)
  // Mails are rendered and stored after the answer.
  await world().core.mails.idle()
  const { status, headers } = answer
  expect(world().lines).toStrictEqual([])
  expect(STATUSES).toContain(status)
  const response = operation.responses.get(status)
  if (!response) throw new Error(`${status} is not in the document: ${answer.text}`)
  expect(response.headers.filter((name) => headers[name] === undefined)).toStrictEqual([])
  const schema = response.content[`${headers['content-type']}`.split(';', 1)[0] ?? '']
  if (!schema) throw new Error(`${headers['content-type']} is not in the document`)
  expect(checkAnswer(schema)(answer.body ?? answer.text)).toBeNull()
  // A refused sign-in is recorded in the audit log; the first one makes the secret of its hashes.
  const isLogin = request.operation === 'workspaces.login'
  const recorded = isLogin ? ['audit_entries', 'secrets'] : []
  const isRead = status >= 400 || operation.method === 'GET'
  if (isRead) expect(watch.changed().filter((one) => !recorded.includes(one))).toStrictEqual([])
  else expectAllowed(operation, request)
  if (status === 201) stage.remember(operation, answer.body.data)
  return status
}

/**
 * The service accepts only what the document allows; in a bulk each recipient is checked
 * separately.
 */
function expectAllowed({ id, body: schema }: Operation, { body, headers }: FuzzedRequest): void {
  if (!schema || typeof body !== 'string' || headers['content-type'] || LENIENT.includes(id)) return
  const sent = JSON.parse(body)
  const isBulk = ['bulks.send', 'messages.estimate'].includes(id) && Array.isArray(sent.recipients)
  expect(checkRequest(schema)(isBulk ? { ...sent, recipients: ['+1'] } : sent)).toBeNull()
}

/** The minimum that a run must observe of an operation. */
function expectedOf({ id, security, parameters, body, responses }: Operation): string[] {
  const isNamed = parameters.some((parameter) => parameter.in === 'path')
  const expected = [
    ...(NEVER_IN.includes(id) ? [] : ['in']),
    ...(body ? ['400'] : []),
    ...(security.length > 0 ? ['401'] : []),
    ...(['messages.send', 'bulks.send'].includes(id) ? ['402'] : []),
    ...(responses.has(403) && !NEVER_FORBIDDEN.includes(id) ? ['403'] : []),
    ...(isNamed ? ['404'] : []),
  ]
  return expected.map((status) => `${id} ${status}`)
}

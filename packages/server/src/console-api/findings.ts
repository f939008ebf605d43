import { CHANNELS, endpoint, mayDo, timestamp } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../routes/mount.ts'

/** What needs attention in a workspace. */
export const findingEndpoints = {
  list: endpoint({
    method: 'GET',
    auth: 'jwt',
    needs: 'belong',
    rate: 'general',
    status: 200,
    path: '/api/findings',
    data: z.object({
      findings: z.array(
        z.object({
          kind: z.enum([
            'frozen',
            'sending_paused',
            'email_unverified',
            'no_credits',
            'low_balance',
            'webhook_disabled',
            'webhook_failing',
            'domain_unverified',
            'domain_failing',
            'failures',
            'bulk_paused',
            'channel_paused',
            'codes_paused',
          ]),
          /** The object, for a link. */
          id: z.string().nullable(),
          name: z.string().nullable(),
          count: z.int().min(0).nullable(),
          /** The time of the next attempt, null if no delivery is pending; the latest end of a pause. */
          until: timestamp.nullable(),
        }),
      ),
      /** The first steps, until a message was sent; null later, and for roles that may not read messages. */
      steps: z.object({ has_key: z.boolean(), has_webhook: z.boolean() }).nullable(),
    }),
    summary: 'List what needs attention in the workspace',
  }),
  sending: endpoint({
    method: 'GET',
    auth: 'jwt',
    needs: 'belong',
    rate: 'general',
    status: 200,
    path: '/api/sending',
    data: z.object({
      /** Whether sends are refused. */
      is_frozen: z.boolean(),
      /** Whether the operator has paused all sending. */
      is_paused: z.boolean(),
      /** The channels whose providers are all paused. */
      paused_channels: z.array(z.enum(CHANNELS)),
    }),
    summary: 'Report why messages wait or are refused',
  }),
} as const

/** The number of webhooks and domains that are looked at. */
const LOOKED_AT = 100

/** The number of failing webhooks for which the next attempt is looked up. */
const NEXT_ATTEMPTS_OF = 5

/** Fewer failures in an hour are no finding, and fewer than this share of the messages. */
const FAILURES_MIN = 5
const FAILURES_SHARE = 0.1

type Findings = Awaited<ReturnType<Handlers<typeof findingEndpoints>['list']>>
type Finding = Findings['findings'][number]

const page = { limit: LOOKED_AT, offset: 0 }

/** The handler that lists what needs attention. */
export function findingHandlers(core: DecodedCore): Handlers<typeof findingEndpoints> {
  return {
    async list({ viewer, workspace_id, identity }) {
      const isTest = typeof viewer !== 'string' && viewer.mode === 'test'
      const mayRead = identity?.kind === 'session' && mayDo(identity.role, 'read')
      const [state, ofAccount, ofMessages, ofWebhooks, ofDomains, ofCodes, ofBulks, steps] =
        await Promise.all([
          sendingState(core, workspace_id, isTest),
          accountFindings(core, workspace_id, isTest),
          mayRead ? failureFindings(core, viewer) : [],
          mayRead ? webhookFindings(core, viewer) : [],
          mayRead ? domainFindings(core, workspace_id) : [],
          mayRead && !isTest ? codeFindings(core, workspace_id) : [],
          mayRead ? bulkFindings(core, viewer) : [],
          mayRead ? firstSteps(core, viewer, workspace_id) : null,
        ])
      return {
        findings: [
          ...(state.is_frozen ? [finding('frozen')] : []),
          ...(state.is_paused ? [finding('sending_paused')] : []),
          ...ofMessages,
          ...(mayRead ? await pausedChannels(core, viewer, state) : []),
          ...ofCodes,
          ...ofBulks,
          ...ofAccount,
          ...ofWebhooks,
          ...ofDomains,
        ],
        steps,
      }
    },
    sending: ({ viewer, workspace_id }) =>
      sendingState(core, workspace_id, typeof viewer !== 'string' && viewer.mode === 'test'),
  }
}

function finding(kind: Finding['kind'], of: Partial<Finding> = {}): Finding {
  return { kind, id: null, name: null, count: null, until: null, ...of }
}

type Sending = Awaited<ReturnType<Handlers<typeof findingEndpoints>['sending']>>

/** Why messages wait or are refused. A freeze and the providers have no effect on test messages. */
async function sendingState(
  { credits, dispatch, providers }: DecodedCore,
  workspaceId: string,
  isTest: boolean,
): Promise<Sending> {
  const [{ status }, pause, all] = await Promise.all([
    credits.account(workspaceId),
    dispatch.pause(),
    isTest ? [] : providers.status(),
  ])
  return {
    is_frozen: !isTest && status === 'frozen',
    is_paused: pause !== null,
    paused_channels: CHANNELS.filter((channel) => {
      const carriers = all.filter(({ channels }) => channels.includes(channel))
      const isPaused = ({ pauses }: (typeof all)[number]) =>
        pauses.some(({ sender }) => sender === '')
      return carriers.length > 0 && carriers.every(isPaused)
    }),
  }
}

async function accountFindings(
  { workspaces, credits }: DecodedCore,
  workspaceId: string,
  isTest: boolean,
): Promise<Finding[]> {
  const [account, { available, credit_limit }] = await Promise.all([
    workspaces.account(workspaceId),
    credits.account(workspaceId),
  ])
  const { credits_balance, low_balance, email_verified } = account
  const found = email_verified ? [] : [finding('email_unverified')]
  if (isTest) return found
  if (available + credit_limit <= 0) return [...found, finding('no_credits')]
  const isLow = low_balance !== null && credits_balance < low_balance
  return isLow ? [...found, finding('low_balance')] : found
}

async function failureFindings(
  { messages }: DecodedCore,
  viewer: Parameters<DecodedCore['messages']['history']>[0],
): Promise<Finding[]> {
  const failures = await messages.recentFailures(viewer)
  // The API counts a canceled message as failed, but it is no trouble.
  const errors = failures.filter(({ error_code }) => error_code !== 'canceled')
  const count = errors.reduce((sum, one) => sum + one.count, 0)
  if (count < FAILURES_MIN) return []
  // Hours begin at the full hour, so the last hour is in two of them.
  const hours = (await messages.history(viewer, 'hour')).slice(-2)
  const accepted = hours.reduce((sum, one) => sum + one.accepted, 0)
  if (count < accepted * FAILURES_SHARE) return []
  return [finding('failures', { count, name: errors[0]?.error_code ?? null })]
}

async function webhookFindings(
  { webhooks }: DecodedCore,
  viewer: Parameters<DecodedCore['webhooks']['list']>[0],
): Promise<Finding[]> {
  const { webhooks: found } = await webhooks.list(viewer, page)
  const disabled = found.filter(({ status }) => status === 'disabled')
  const failing = found.filter(({ status }) => status === 'failing')
  // A webhook is failing after five attempts, which take hours; one that was enabled again is watched by its member now.
  const tried = found.filter((one) => one.status === 'active' && one.consecutive_failures > 0)
  const isBroken = await Promise.all(tried.map(({ id }) => webhooks.failsSinceEnabled(viewer, id)))
  failing.push(...tried.filter((_, i) => isBroken[i]))
  return [
    ...disabled.map(({ id, url: name }) => finding('webhook_disabled', { id, name })),
    ...(await Promise.all(
      failing.map(async ({ id, url: name }, i) => {
        const until = i < NEXT_ATTEMPTS_OF ? await webhooks.nextAttemptAt(viewer, id) : null
        return finding('webhook_failing', { id, name, until })
      }),
    )),
  ]
}

async function domainFindings({ domains }: DecodedCore, workspaceId: string): Promise<Finding[]> {
  const { domains: found } = await domains.list(workspaceId, page)
  return found.flatMap(({ id, domain: name, status }) => {
    if (status === 'verified') return []
    return [finding(status === 'failing' ? 'domain_failing' : 'domain_unverified', { id, name })]
  })
}

/** The paused channels that the workspace uses. A member does not learn the operator's reason. */
async function pausedChannels(
  { messages }: DecodedCore,
  viewer: Parameters<DecodedCore['messages']['history']>[0],
  { paused_channels }: Sending,
): Promise<Finding[]> {
  const found = await Promise.all(
    paused_channels.map((channel) => messages.search(viewer, { channel, limit: 1 })),
  )
  const used = paused_channels.filter((_, i) => found[i]?.total !== 0)
  return used.map((channel) => finding('channel_paused', { id: channel, name: channel }))
}

/** The countries to which no codes are sent. */
async function codeFindings({ verifications }: DecodedCore, workspaceId: string) {
  const pauses = await verifications.pauses(workspaceId)
  const active = pauses.filter(({ is_active }) => is_active)
  return active.map(({ country, ends_at }) =>
    finding('codes_paused', { id: country, name: country, until: ends_at }),
  )
}

/** The bulks whose messages wait until a member resumes them. */
async function bulkFindings(
  { messages }: DecodedCore,
  viewer: Parameters<DecodedCore['messages']['history']>[0],
): Promise<Finding[]> {
  const paused = await messages.bulks.paused(viewer)
  return paused.map(({ id, name, queued }) => finding('bulk_paused', { id, name, count: queued }))
}

async function firstSteps(
  { messages, apiKeys, webhooks }: DecodedCore,
  viewer: Parameters<DecodedCore['webhooks']['list']>[0],
  workspaceId: string,
): Promise<Findings['steps']> {
  const one = { limit: 1, offset: 0 }
  const { total } = await messages.search(viewer, { limit: 1 })
  if (total !== 0) return null
  const [keys, hooks] = await Promise.all([
    apiKeys.list(workspaceId, one),
    webhooks.list(viewer, one),
  ])
  return { has_key: keys.total > 0, has_webhook: hooks.total > 0 }
}

import type { Core, TargetPolicy } from '@svc/core'
import { SvcError } from '@svc/core/contract'
import { DELIVERY_LATE_MS, dueSinceMs, MESSAGE_LATE_MS } from '@svc/core/operate'
import { counted, type Finding, findingsOf, reasonOf } from './finding.ts'

/** Checks that the providers accept their settings. With `offline` it contacts no provider. */
export async function checkProviders(
  core: Core,
  { offline }: { offline: boolean },
): Promise<Finding[]> {
  const is = findingsOf('providers')
  const states = await core.providers.status()
  if (states.length === 0) {
    return [
      is.warning(
        'no provider is configured: the sandbox serves every channel, and sends nothing',
        'svc init asks for one, or set SVC_PROVIDERS',
      ),
    ]
  }
  const findings: Finding[] = []
  for (const { name, type, channels, pauses } of states) {
    for (const { sender, reason, retry_at } of pauses) {
      const title = sender === '' ? name : `${name} from ${sender}`
      const until = retry_at ? `, retried at ${retry_at.toISOString()}` : ''
      findings.push(
        is.warning(
          `${title} is paused: ${reason}${until}`,
          `svc providers resume ${name}, when the fault is fixed`,
        ),
      )
    }
    if (offline) continue
    const checked = await core.providers.check(name).catch((error: unknown) => ({
      type: 'failed' as const,
      text: reasonOf(error),
    }))
    if (checked.type === 'failed') {
      findings.push(
        is.error(
          `${name} does not accept its settings: ${checked.text}`,
          'compare them with your account at the provider',
        ),
      )
    } else if (checked.type === 'ok') {
      findings.push(is.ok(`${name} accepts its settings (${channels.join(', ')})`))
      const unchecked = templateFinding(name, type, checked.templates ?? null)
      if (unchecked) findings.push(unchecked)
    } else {
      findings.push(
        is.skipped(
          `${name} cannot be checked without a message (${channels.join(', ')})`,
          `svc providers test ${name} --to <recipient> sends one`,
        ),
      )
    }
  }
  return findings.length > 0 ? findings : [is.ok(`${states.length} configured, not contacted`)]
}

/** Why templates of WhatsApp are not checked before a charge; null if they are, or if no setting can change it. */
function templateFinding(name: string, type: string, reason: string | null): Finding | null {
  const is = findingsOf('providers')
  if (reason === null) return null
  const advice = TEMPLATE_ADVICE[type]
  if (reason !== 'unlisted') {
    return is.warning(
      `${name} cannot list the templates of WhatsApp, so they are not checked before a charge: ${reason}`,
      advice?.unavailable ?? 'check that the credentials of the provider may read its templates',
    )
  }
  if (!advice) return null
  return is.skipped(
    `${name} does not check before a charge whether templates of WhatsApp are approved`,
    advice.unlisted,
  )
}

const TEMPLATE_ADVICE: Readonly<Record<string, { unavailable: string; unlisted: string }>> = {
  whatsapp_cloud: {
    unavailable: 'check business_account_ids, and that the token has whatsapp_business_management',
    unlisted: 'name the business accounts of its numbers in business_account_ids',
  },
  twilio: {
    unavailable:
      'check that the API key may read https://content.twilio.com/v1/ContentAndApprovals',
    unlisted:
      'set check_approvals to true, except for the sandbox of Twilio or if templates only answer messages of the last 24 hours',
  },
}

/** Checks that all secrets in the database are encrypted with the first key. */
export async function checkSecrets(core: Pick<Core, 'secretsAtRest'>): Promise<Finding[]> {
  const is = findingsOf('secrets')
  const { key_id, plain, keys } = await core.secretsAtRest.status()
  const missing = keys.filter(({ is_given }) => !is_given)
  if (missing.length > 0) {
    const ids = missing.map((key) => key.key_id).join(', ')
    return [
      is.error(
        `${sumOf(missing)} encrypted with a missing key (key id ${ids})`,
        'svc serve refuses to start without it: set SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE, with every key in use',
      ),
    ]
  }
  if (key_id === null) {
    return [
      is.warning(
        'no key is set: the database and its backups contain the secrets of sessions and webhooks as plain text',
        'set SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE, then svc secrets encrypt',
      ),
    ]
  }
  const old = keys.filter((key) => key.key_id !== key_id && key.values > 0)
  const findings: Finding[] = []
  if (plain > 0) findings.push(is.warning(`${textOf(plain)} plain text`, 'svc secrets encrypt'))
  if (old.length > 0) {
    findings.push(is.warning(`${sumOf(old)} encrypted with an old key`, 'svc secrets encrypt'))
  }
  return findings.length > 0 ? findings : [is.ok(`${sumOf(keys)} encrypted, with ${key_id}`)]
}

function sumOf(keys: readonly { values: number }[]): string {
  return textOf(keys.reduce((sum, { values }) => sum + values, 0))
}

function textOf(values: number): string {
  return counted(values, 'value is', 'values are')
}

const SHOWN_MAX = 10

/** Reports sending domains that were verified and have lost their DKIM record. */
export async function checkDomains(core: Core): Promise<Finding[]> {
  const is = findingsOf('domains')
  const broken = await core.domains.broken(SHOWN_MAX)
  if (broken.length === 0) return [is.ok('no verified domain has lost its record')]
  return broken.map(({ workspace_id, domain, status, accepted_until, records }) => {
    const key = records.find(({ purpose }) => purpose === 'dkim')
    const end =
      accepted_until === null
        ? 'its addresses are refused'
        : `its addresses are accepted until ${accepted_until.toISOString()}`
    return is.warning(
      `${domain} of workspace ${workspace_id} is ${status}: ${key?.name ?? 'its record'} is ${key?.state ?? 'missing'}; ${end}`,
      `publish the record that svc domains show ${domain} --workspace ${workspace_id} shows, then run svc domains verify`,
    )
  })
}

/** Reports the countries to which workspaces send no codes. */
export async function checkVerifications(core: Core): Promise<Finding[]> {
  const is = findingsOf('codes')
  const { paused_countries } = await core.overviews.troubles(SHOWN_MAX)
  if (paused_countries.length === 0) return [is.ok('no country is paused for one-time codes')]
  return paused_countries.map(({ workspace_id, country, paused_at, sent, approved, is_active }) => {
    const codes = `one-time codes of workspace ${workspace_id} to ${country}`
    const [since, counts] = [
      paused_at.toISOString(),
      `${approved} of ${sent} messages were approved`,
    ]
    return is_active
      ? is.warning(
          `${codes} are paused since ${since}: ${counts}`,
          `if people are waiting for these codes: svc verify allow ${workspace_id} ${country} --hours 24`,
        )
      : is.ok(`the pause of ${codes} has ended: it began at ${since}, when ${counts}`)
  })
}

/** Checks that due messages and deliveries are sent. */
export async function checkWork(core: Core): Promise<Finding[]> {
  const is = findingsOf('queue')
  const { at, message_queue, delivery_queue, pause } = await core.overviews.overview()
  const message_ms = dueSinceMs(at, message_queue)
  const delivery_ms = dueSinceMs(at, delivery_queue)
  const findings: Finding[] = []
  if (pause) {
    findings.push(
      is.warning(
        `all sending and delivering is paused since ${pause.created_at.toISOString()}: ${pause.reason}`,
        pause.cause === 'restore'
          ? 'svc resume --dry-run shows the doubtful messages; then svc resume'
          : 'svc resume ends the pause',
      ),
    )
  } else {
    if (message_ms > MESSAGE_LATE_MS) {
      findings.push(
        is.error(
          `${counted(message_queue.due, 'message is', 'messages are')} due, the oldest for ${minutes(message_ms)}`,
          'check that a server runs on this database, and that its providers are not paused (svc providers status)',
        ),
      )
    }
    if (delivery_ms > DELIVERY_LATE_MS) {
      findings.push(
        is.warning(
          `${counted(delivery_queue.due, 'webhook delivery is', 'webhook deliveries are')} due, the oldest for ${minutes(delivery_ms)}`,
          'a receiver that does not answer delays its own deliveries; svc top shows it',
        ),
      )
    }
  }
  if (message_queue.unknown > 0) {
    findings.push(
      is.warning(
        `it is unknown whether a provider has accepted ${counted(message_queue.unknown, 'message')}`,
        'the service queries the provider; without an answer a message ends as outcome_unknown after ten minutes. If there are many, a provider does not answer',
      ),
    )
  }
  const { waiting } = message_queue
  return findings.length > 0
    ? findings
    : [is.ok(`${counted(waiting, 'message waits', 'messages wait')}, none is late`)]
}

function minutes(ms: number): string {
  return `${Math.floor(ms / 60_000)} min`
}

/** Reports receivers that fail. Without `offline` it also tries to connect to those that gave no answer. */
export async function checkWebhooks(
  core: Core,
  { offline, targets }: { offline: boolean; targets: TargetPolicy },
): Promise<Finding[]> {
  const is = findingsOf('webhooks')
  const { webhooks: totals } = await core.overviews.overview()
  const { webhooks } = await core.overviews.troubles(SHOWN_MAX)
  if (webhooks.length === 0) return [is.ok(`${totals.active} active`)]
  const { reachTarget } = await import('@svc/core/operate')
  return Promise.all(
    webhooks.map(async ({ id, workspace_id, url, status, disabled_reason }) => {
      const { host } = new URL(url)
      const reason = disabled_reason ? ` (${disabled_reason})` : ''
      const state = `${host} of workspace ${workspace_id} is ${status}${reason}`
      const advice = `its owner sees each attempt: GET /api/v1/webhooks/${id}/deliveries`
      const answer = await lastAnswer(core, workspace_id, id)
      // A receiver that answers can be reached, also if the settings of this command would forbid its address.
      if (answer !== null) return is.warning(`${state}; its last answer was ${answer}`, advice)
      if (offline) return is.warning(state, advice)
      const fault = inSettings(await reachTarget(url, targets))
      return is.warning(`${state}; ${fault ?? 'this machine can connect to it'}`, advice)
    }),
  )
}

/** The status of the receiver's answer to the newest delivery that was attempted; null if it gave none. */
async function lastAnswer(
  core: Core,
  workspaceId: string,
  webhookId: string,
): Promise<number | null> {
  const page = { limit: SHOWN_MAX, offset: 0 }
  try {
    const { deliveries } = await core.webhooks.deliveries(workspaceId, webhookId, page)
    const attempted = deliveries.find(
      ({ response_status, error }) => response_status !== null || error !== null,
    )
    return attempted?.response_status ?? null
  } catch (error) {
    // A status callback of a message is not a webhook of its workspace.
    if (error instanceof SvcError && error.code === 'not_found') return null
    throw error
  }
}

/** Replaces the name of the core's option with the names of the settings. */
function inSettings(fault: string | null): string | undefined {
  return fault?.replace(
    /webhook_targets\.(\w+)/,
    (_, name: string) => `SVC_WEBHOOK_${name.toUpperCase()}`,
  )
}

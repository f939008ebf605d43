import type { Core } from '@svc/core'
import { type Finding, findingsOf, reasonOf } from './finding.ts'

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
  for (const { name, channels, pauses } of states) {
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
    } else {
      findings.push(is.ok(`${name} cannot be checked without a message (${channels.join(', ')})`))
    }
  }
  return findings.length > 0 ? findings : [is.ok(`${states.length} configured, not contacted`)]
}

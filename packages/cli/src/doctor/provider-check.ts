import type { Core } from '@svc/core'
import { type Finding, findingsOf, reasonOf } from './finding.ts'

/** Whether those who carry messages take their settings; asks each unless `offline`. */
export async function checkProviders(
  core: Core,
  { offline }: { offline: boolean },
): Promise<Finding[]> {
  const is = findingsOf('providers')
  const states = await core.providers.status()
  if (states.length === 0) {
    return [
      is.warning(
        'none is configured: every channel is served by the sandbox, and nothing leaves this machine',
        'see docs/guides for e-mail, Twilio, WhatsApp, SMPP and others',
      ),
    ]
  }
  const findings: Finding[] = []
  for (const { name, channels, pauses } of states) {
    for (const { sender, reason, retry_at } of pauses) {
      const who = sender === '' ? name : `${name} from ${sender}`
      const until = retry_at ? `, tried again at ${retry_at.toISOString()}` : ''
      findings.push(
        is.warning(
          `${who} is paused: ${reason}${until}`,
          `svc providers resume ${name}, when it is mended`,
        ),
      )
    }
    if (offline) continue
    const checked = await core.providers.check(name).catch((error: unknown) => ({
      type: 'wrong' as const,
      text: reasonOf(error),
    }))
    if (checked.type === 'wrong') {
      findings.push(
        is.error(
          `${name} does not take its settings: ${checked.text}`,
          'compare them with the account there',
        ),
      )
    } else if (checked.type === 'well') {
      findings.push(is.ok(`${name} takes its settings (${channels.join(', ')})`))
    } else {
      findings.push(is.ok(`${name} cannot be asked without sending (${channels.join(', ')})`))
    }
  }
  return findings.length > 0 ? findings : [is.ok(`${states.length} configured, not asked`)]
}

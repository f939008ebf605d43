import { Icon, LinkButton } from '../../parts/index.ts'
import { count, relativeTime } from '../../shell/format.ts'
import type { PageProps } from '../../shell/page.ts'
import { hrefOf } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'

interface Finding {
  kind: string
  id: string | null
  name: string | null
  count: number | null
  until: string | null
}

/** What needs attention in the workspace, and its first steps. */
export interface Findings {
  findings: Finding[]
  steps: { has_key: boolean; has_webhook: boolean } | null
}

/** A sentence about a finding, and the page that helps; null for none. */
function described({
  kind,
  id,
  name,
  count: n,
  until,
}: Finding): [text: string, to: string | null] {
  switch (kind) {
    case 'no_credits':
      return ['There are no credits: sends are refused.', '/credits']
    case 'low_balance':
      return ['The balance is below its threshold.', '/credits']
    case 'email_unverified':
      return ['The e-mail address of the workspace is not verified.', '/settings']
    case 'webhook_disabled':
      return [`Events do not reach ${name}: this webhook is disabled.`, `/webhooks/${id}`]
    case 'webhook_failing':
      return [
        `Deliveries to ${name} fail${until && Date.parse(until) > Date.now() ? `; the next attempt is ${relativeTime(until)}` : ''}.`,
        `/webhooks/${id}`,
      ]
    case 'domain_unverified':
      return [`${name} is not verified yet, so it cannot send.`, `/domains/${id}`]
    case 'domain_failing':
      return [`A DNS record of ${name} is missing.`, `/domains/${id}`]
    case 'failures':
      return [
        `${count(n ?? 0, 'message')} failed in the last hour, most with ${name ?? 'an unknown error'}.`,
        '/messages?status=failed&period=1',
      ]
    default:
      return [`A provider of ${name} is paused: messages wait.`, null]
  }
}

/** The list of findings; nothing if all is well. */
export function FindingList({
  findings,
  mayOpen,
}: Pick<Findings, 'findings'> & Pick<PageProps, 'mayOpen'>) {
  if (findings.length === 0) return null
  return (
    <section class="card findings" aria-label="Findings">
      <ul>
        {findings.map((finding) => {
          const [text, to] = described(finding)
          return (
            <li key={finding.kind + finding.id}>
              <Icon name="warning" />
              {to && mayOpen(to) ? <a href={hrefOf(to)}>{text}</a> : text}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** The first steps of a workspace without messages. */
export function FirstSteps({ has_key, has_webhook }: NonNullable<Findings['steps']>) {
  const steps = [
    [
      false,
      'Send your first message',
      'In test mode it costs nothing and reaches no recipient.',
      '/compose',
      'send',
    ],
    [has_key, 'Create an API key', 'Your program sends with it.', '/keys', 'develop'],
    [
      has_webhook,
      'Add a webhook',
      'It reports deliveries and answers to your program.',
      '/webhooks',
      'develop',
    ],
  ] as const
  return (
    <section class="card">
      <h2>First steps</h2>
      <ul class="steps">
        {steps
          .filter(([, , , , need]) => may(need))
          .map(([isDone, title, text, to]) => (
            <li key={title}>
              <Icon name={isDone ? 'check' : 'right'} />
              <div>
                <strong>{title}</strong>
                <p class="muted">{text}</p>
              </div>
              {!isDone && <LinkButton to={to}>Begin</LinkButton>}
            </li>
          ))}
      </ul>
    </section>
  )
}

import { useState } from 'preact/hooks'
import type { WhatsappApproval } from '../../../src/console-api/console-answers.ts'
import { Badge, Button, Loaded, Time } from '../../parts/index.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { rich, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import type { WhatsappTemplate } from './edited.ts'

/** Whether the providers of WhatsApp have approved the template that a text names. */
export function Approval({ template: { name, id, language } }: { template: WhatsappTemplate }) {
  const [asked, setAsked] = useState(0)
  const load = useLoad(
    (signal) => {
      const query = { name, id, language, refresh: asked > 0 ? 'true' : undefined }
      return ownApi.get<{ approval: WhatsappApproval }>('/templates/approval', query, signal)
    },
    [name, id, language, asked],
  )
  return (
    <section aria-label={t('Approval by WhatsApp')}>
      <Loaded of={load}>
        {({ approval }) => (
          <div role="status">
            <p class="tags">
              <strong dir="auto">{[name ?? id, language].filter(Boolean).join(', ')}</strong>
              <State {...approval} />
            </p>
            <p class="small">
              {TEXTS[approval.state]}
              {approval.checked_at && (
                <> {rich('Checked {time}.', { time: <Time at={approval.checked_at} /> })}</>
              )}
            </p>
          </div>
        )}
      </Loaded>
      <Button disabled={load.isLoading} onClick={() => setAsked(asked + 1)}>
        {t('Check again')}
      </Button>
    </section>
  )
}

function State({ state, status, reason }: WhatsappApproval) {
  const word = wordOf((status ?? '').toLowerCase())
  switch (state) {
    case 'approved':
      return <Badge tone="good">{t('approved by WhatsApp')}</Badge>
    case 'pending':
      return <Badge tone="busy">{t('waits for approval')}</Badge>
    case 'refused':
      return (
        <>
          <Badge tone="bad">{t('not approved: {word}', { word })}</Badge>
          {reason !== null && (
            <span>{t('Reason: {reason}', { reason: wordOf(reason.toLowerCase()) })}</span>
          )}
        </>
      )
    case 'missing':
      return <Badge tone="bad">{t('not at WhatsApp')}</Badge>
    default:
      return <Badge tone="warn">{t('approval not known')}</Badge>
  }
}

const REFUSED = t('Messages with it are refused, and cost nothing.')

const TEXTS: Record<WhatsappApproval['state'], string> = {
  approved: t('Messages with it can be sent.'),
  pending: REFUSED,
  refused: REFUSED,
  missing: t(
    'There is no template with this name and language. Messages with it are refused, and cost nothing.',
  ),
  unchecked: t('The provider does not say which templates are approved.'),
  unavailable: t('The provider cannot be asked now. Messages are accepted without this check.'),
}

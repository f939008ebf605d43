import type { MessagesEstimateData } from '@svc/client'
import { useEffect, useState } from 'preact/hooks'
import { Button, Facts, Money } from '../../parts/index.ts'
import { api, dataKey, errorText, isInFields } from '../../shell/api.ts'
import { number } from '../../shell/format.ts'
import { askLater } from '../../shell/load.ts'
import { rich, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import type { EstimateBody } from './draft.ts'

/** Estimates of one message, and of bulks, which have a limit of 60 in 5 minutes. */
const TYPING_MS = 400
const TYPING_BULK_MS = 1_500

interface Estimate {
  data?: MessagesEstimateData
  error?: unknown
}

/** The price of a request, some time after the last change; null: there is nothing to estimate yet. */
export function useEstimate(body: EstimateBody | null): Estimate {
  const key = body && dataKey() + JSON.stringify(body)
  const [estimate, setEstimate] = useState<Estimate>({})
  useEffect(() => {
    if (!body) return setEstimate({})
    setEstimate(({ error: _, ...before }) => before)
    return askLater(
      'recipients' in body ? TYPING_BULK_MS : TYPING_MS,
      (signal) => api.messages.estimate(body, { signal, maxRetries: 0 }),
      (data) => setEstimate({ data }),
      (error) => setEstimate({ error }),
    )
  }, [key])
  return estimate
}

const REASONS = {
  account_frozen: t('The workspace is frozen. Ask the operator of the service.'),
  insufficient_credits: t('The credits do not suffice.'),
  daily_limit: t('The daily limit would be exceeded.'),
}

/** The price and the segments of a request while it is written. */
export function EstimateCard({
  estimate: { data, error },
  onText,
}: {
  estimate: Estimate
  /** Takes the proposed text. */
  onText?: (text: string) => void
}) {
  const [first] = data?.messages ?? []
  const isOne = data?.recipients === 1
  return (
    <section class="card" aria-live="polite">
      <h2>{t('Estimate')}</h2>
      {!data && (
        <p class="muted">
          {error === undefined || isInFields(error)
            ? t('Recipient and content give the price.')
            : errorText(error)}
        </p>
      )}
      {data && (
        <>
          <Facts
            of={{
              [t('Price')]: <Money credits={data.credits_needed} />,
              [t('Balance after')]: <Money credits={data.credits_balance - data.credits_needed} />,
              [t('Recipients')]: isOne
                ? null
                : t('{sendable} of {recipients}', {
                    sendable: number(data.sendable),
                    recipients: number(data.recipients),
                  }),
              [t('Segments')]: first?.segments && `${first.segments}, ${first.encoding}`,
              [t('Characters')]: isOne ? first?.characters : null,
            }}
          />
          {data.block_reason && <p class="bad">{REASONS[data.block_reason]}</p>}
          {isOne && first?.block_reason && (
            <p class="bad">{t('Not sendable: {reason}', { reason: wordOf(first.block_reason) })}</p>
          )}
          {first && <Unusual characters={first.non_gsm_characters} />}
          {isOne && first?.gsm7_suggestion && onText && (
            <Button onClick={() => onText(first.gsm7_suggestion?.text ?? '')}>
              {rich('Use GSM-7 letters ({segments})', { segments: first.gsm7_suggestion.segments })}
            </Button>
          )}
        </>
      )}
    </section>
  )
}

/** A text with more different characters outside GSM-7 is in another script, and no character can be avoided. */
const UNUSUAL_MAX = 5

/** Why an SMS needs UCS-2: the few characters that could be avoided, or its script. */
function Unusual({ characters }: { characters: readonly { char: string }[] }) {
  const different = [...new Set(characters.map(({ char }) => char))]
  if (different.length === 0) return null
  if (different.length > UNUSUAL_MAX) {
    return <p>{t('This text needs UCS-2, with fewer characters in a segment.')}</p>
  }
  return (
    <p>
      {rich('These characters need UCS-2, with fewer characters in a segment: {code}', {
        code: (
          <code>
            <bdi>{different.join(' ')}</bdi>
          </code>
        ),
      })}
    </p>
  )
}

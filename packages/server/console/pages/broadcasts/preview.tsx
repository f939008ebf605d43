import type { BroadcastPreview, BroadcastsPreviewBody } from '@svc/client'
import { useEffect, useState } from 'preact/hooks'
import { ErrorBox, Facts, Money, Tabs } from '../../parts/index.ts'
import { api, dataKey } from '../../shell/api.ts'
import { count, number } from '../../shell/format.ts'
import { askLater } from '../../shell/load.ts'
import { rich, t } from '../../shell/text.ts'
import { inWords } from '../../shell/words.ts'
import { Content } from '../messages/content.tsx'
import { MailPreview } from '../templates/preview.tsx'
import { Departures } from './state.tsx'

interface Previewed {
  /** Of the newest request that succeeded. */
  data?: BroadcastPreview
  error?: unknown
  /** Whether this is of the newest request. */
  isCurrent: boolean
}

/** A preview reads the whole audience. */
const TYPING_MS = 700

/** What a broadcast would do now, some time after the last change; null: there is nothing to ask yet. */
export function usePreview(body: BroadcastsPreviewBody | null): Previewed {
  const key = body && dataKey() + JSON.stringify({ ...body, name: undefined })
  const [state, setState] = useState<{
    key: string | null
    data?: BroadcastPreview
    error?: unknown
  }>({ key: null })
  useEffect(() => {
    if (!body) return
    return askLater(
      TYPING_MS,
      (signal) => api.broadcasts.preview(body, { signal }),
      ({ preview: data }) => setState({ key, data }),
      (error) => setState({ key, error }),
    )
  }, [key])
  return { ...state, isCurrent: key !== null && state.key === key }
}

/** The size of the audience, the price and the first messages. */
export function PreviewCard({ preview: { data, error, isCurrent } }: { preview: Previewed }) {
  return (
    <section class="card form template-preview" aria-label={t('Preview')} aria-busy={!isCurrent}>
      <h2>{t('Preview')}</h2>
      {error !== undefined && isCurrent && <ErrorBox error={error} />}
      {!data && !error && (
        <p class="muted">{t('Audience, price and messages are being counted.')}</p>
      )}
      {data && (
        <>
          <div aria-live="polite">
            <p class="figure">{count(data.sendable, 'message')}</p>
            <p class="muted">
              {data.contacts === 0
                ? t('No contact matches.')
                : t('of {contacts}. Nothing is charged yet.', {
                    contacts: count(data.contacts, 'contact'),
                  })}
            </p>
          </div>
          <Facts
            of={{
              [t('Price')]: data.is_estimate ? (
                rich('about {price}', { price: <Money credits={data.credits_needed} /> })
              ) : (
                <Money credits={data.credits_needed} />
              ),
              [t('Balance after')]: <Money credits={data.credits_balance - data.credits_needed} />,
              [t('When')]: data.departures && (
                <Departures of={data.departures} since={Date.now()} />
              ),
              [t('Suppressed')]: data.suppressed > 0 && number(data.suppressed),
              [t('No address')]: data.no_address > 0 && number(data.no_address),
              [t('Rejected')]: data.rejected > 0 && (
                <>
                  {number(data.rejected)}
                  {reasonsOf(data).map((reason) => (
                    <small key={reason} class="line">
                      {reason}
                    </small>
                  ))}
                </>
              ),
            }}
          />
          {data.departures?.some(({ at }) => Date.parse(at) <= Date.now()) && (
            <p class="bad">
              {t('For some recipients this time is past: they get the message at once.')}
            </p>
          )}
          {data.credits_needed > data.credits_balance && (
            <p class="bad">
              {t('The credits do not suffice: the broadcast would pause until you buy more.')}
            </p>
          )}
          <Samples samples={data.samples} isMail={data.samples.some(hasSubject)} />
        </>
      )}
    </section>
  )
}

/** Contacts are often rejected for one reason. */
const reasonsOf = ({ faults }: BroadcastPreview) => [
  ...new Set(faults.map(({ message }) => inWords(message))),
]

type Sample = BroadcastPreview['samples'][number]

const hasSubject = ({ content }: Sample) => 'subject' in content

/** The first messages, one for each tab. */
function Samples({ samples, isMail }: { samples: readonly Sample[]; isMail: boolean }) {
  const [chosen, setChosen] = useState('0')
  const shown = samples[Number(chosen)] ?? samples[0]
  if (!shown) return null
  const at = String(samples.indexOf(shown))
  return (
    <>
      <h3>{t('First messages')}</h3>
      <Tabs
        label={t('Samples')}
        tabs={samples.map((_, i) => [String(i), `${i + 1}`])}
        current={at}
        onChoose={setChosen}
      />
      <p class="small">
        {t('To {to}', { to: shown.to })}
        {shown.segments !== null && `, ${count(shown.segments, 'segment')}`},{' '}
        <Money credits={shown.credits} />
      </p>
      {isMail ? (
        <MailPreview content={shown.content} />
      ) : (
        <div class="handset">
          <Content id="" channel="" content={shown.content} />
        </div>
      )}
    </>
  )
}

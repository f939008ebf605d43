import type { OperatorProvider } from '../../../src/console-api/operator/answers.ts'
import { Badge, Button, Empty, Facts, Loaded, PageHead, Time, toast } from '../../parts/index.ts'
import { count, number } from '../../shell/format.ts'
import { rich, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { channelName } from '../messages/channels.ts'
import { useAct } from './acts.tsx'
import { send, usePolled } from './polled.ts'
import { ProviderTable } from './provider-table.tsx'

function Providers() {
  const load = usePolled<{ providers: OperatorProvider[] }>('/providers')
  const { act, dialog } = useAct()
  const change = (name: string, verb: 'pause' | 'resume', sender?: string | null) => {
    const shown = { name: sender ?? name }
    act({
      title: verb === 'pause' ? t('Pause {name}', shown) : t('Resume {name}', shown),
      action: verb === 'pause' ? t('Pause') : t('Resume'),
      text: verb === 'pause' ? t('Its messages wait, or another provider sends them.') : undefined,
      async run({ reason }) {
        await send(`/providers/${encodeURIComponent(name)}/${verb}`, {
          reason,
          ...(sender && { sender }),
        })
        load.reload()
        return verb === 'pause' ? t('{name} is paused', shown) : t('{name} sends again', shown)
      },
    })
  }
  async function test(name: string) {
    const path = `/providers/${encodeURIComponent(name)}/check`
    const { type, text } = await send<{ type: string; text: string | null }>(path)
    if (type === 'failed') toast(text ?? type, 'bad')
    else if (type === 'ok') toast(t('{name} accepts its settings', { name }))
    else toast(t('{name} cannot be tested without a message: nothing was sent', { name }), 'plain')
  }
  return (
    <>
      <PageHead
        title={t('Providers')}
        text={t('Outcomes are those of the last 15 minutes on this server')}
      />
      <Loaded of={load}>
        {({ providers }) => (
          <div class="stack">
            {providers.every(({ type }) => type === 'sandbox') && (
              <Empty title={t('No provider is configured')}>
                <p>
                  {t(
                    'The sandbox serves every channel: no message reaches a phone or a mailbox. List providers in SVC_PROVIDERS and start the service again: docs/operating/providers.md.',
                  )}
                </p>
              </Empty>
            )}
            {providers.length > 0 && (
              <ProviderTable
                providers={providers}
                actions={({ name, state, type }) =>
                  type !== 'sandbox' && (
                    <>
                      <Button onClick={() => test(name)}>{t('Test')}</Button>
                      {state === 'paused' || state === 'refused' ? (
                        <Button onClick={() => change(name, 'resume')}>{t('Resume')}</Button>
                      ) : (
                        <Button kind="danger" onClick={() => change(name, 'pause')}>
                          {t('Pause')}
                        </Button>
                      )}
                    </>
                  )
                }
              />
            )}
            {providers.map(({ name, type, channels, pauses, connections, recent, ...more }) => (
              <section class="card" key={name}>
                <h2>{name}</h2>
                <Facts
                  of={{
                    [t('Type')]: type,
                    [t('Channels')]: channels.map(channelName).join(', ') || null,
                    [t('Limit')]:
                      more.messages_per_second &&
                      t('{messages_per_second} per second', {
                        messages_per_second: count(more.messages_per_second, 'message'),
                      }),
                    [t('Outcomes')]: t(
                      '{accepted} accepted, {rejected} rejected, {retried} retried, {unknown} unknown',
                      {
                        accepted: number(recent.accepted),
                        rejected: number(recent.rejected),
                        retried: number(recent.retried),
                        unknown: number(recent.unknown),
                      },
                    ),
                    [t('Nothing accepted since')]: recent.unanswered && (
                      <Time at={recent.unanswered.since} exact />
                    ),
                    [t('Last error')]: recent.last_error && (
                      <>
                        {recent.last_error.code}: {recent.last_error.message} (
                        <Time at={recent.last_error.at} />)
                      </>
                    ),
                    [t('Connections')]:
                      connections.map((one) => `${one.name} ${wordOf(one.state)}`).join(', ') ||
                      null,
                  }}
                />
                {pauses.map(({ sender, code, reason, retry_at, created_at }) => (
                  <p key={sender}>
                    <Badge tone="warn">{sender ?? t('paused')}</Badge> {code} {reason} (
                    <Time at={created_at} />
                    {retry_at && <>, {rich('next try {time}', { time: <Time at={retry_at} /> })}</>}
                    ){' '}
                    {sender && (
                      <Button onClick={() => change(name, 'resume', sender)}>{t('Resume')}</Button>
                    )}
                  </p>
                ))}
              </section>
            ))}
          </div>
        )}
      </Loaded>
      {dialog}
    </>
  )
}

export default { title: t('Providers'), Page: Providers }

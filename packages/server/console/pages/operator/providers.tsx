import type { OperatorProvider } from '../../../src/console-api/operator/answers.ts'
import { Badge, Button, Empty, Facts, Loaded, PageHead, Time, toast } from '../../parts/index.ts'
import { count, number } from '../../shell/format.ts'
import { useAct } from './acts.tsx'
import { send, usePolled } from './polled.ts'
import { ProviderTable } from './provider-table.tsx'

function Providers() {
  const load = usePolled<{ providers: OperatorProvider[] }>('/providers')
  const { act, dialog } = useAct()
  const change = (name: string, verb: 'pause' | 'resume', action: string, sender?: string | null) =>
    act({
      title: `${action} ${sender ?? name}`,
      action,
      text: verb === 'pause' ? 'Its messages wait, or another provider sends them.' : undefined,
      async run({ reason }) {
        await send(`/providers/${encodeURIComponent(name)}/${verb}`, {
          reason,
          ...(sender && { sender }),
        })
        load.reload()
        return `${sender ?? name} ${verb === 'pause' ? 'is paused' : 'sends again'}`
      },
    })
  async function test(name: string) {
    const path = `/providers/${encodeURIComponent(name)}/check`
    const { type, text } = await send<{ type: string; text: string | null }>(path)
    if (type === 'failed') toast(text ?? type, 'bad')
    else if (type === 'ok') toast(`${name} accepts its settings`)
    else toast(`${name} cannot be tested without a message: nothing was sent`, 'plain')
  }
  return (
    <>
      <PageHead title="Providers" text="Outcomes are those of the last 15 minutes on this server" />
      <Loaded of={load}>
        {({ providers }) => (
          <div class="stack">
            {providers.every(({ type }) => type === 'sandbox') && (
              <Empty title="No provider is configured">
                <p>
                  The sandbox serves every channel: no message reaches a phone or a mailbox. List
                  providers in SVC_PROVIDERS and start the service again:
                  docs/operating/providers.md.
                </p>
              </Empty>
            )}
            {providers.length > 0 && (
              <ProviderTable
                providers={providers}
                actions={({ name, state, type }) =>
                  type !== 'sandbox' && (
                    <>
                      <Button onClick={() => test(name)}>Test</Button>
                      {state === 'paused' || state === 'refused' ? (
                        <Button onClick={() => change(name, 'resume', 'Resume')}>Resume</Button>
                      ) : (
                        <Button kind="danger" onClick={() => change(name, 'pause', 'Pause')}>
                          Pause
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
                    Type: type,
                    Channels: channels.join(', ') || null,
                    Limit:
                      more.messages_per_second &&
                      `${count(more.messages_per_second, 'message')} per second`,
                    Outcomes: `${count(recent.accepted, 'accepted', 'accepted')}, ${number(recent.rejected)} rejected, ${number(recent.retried)} retried, ${number(recent.unknown)} unknown`,
                    'Last error': recent.last_error && (
                      <>
                        {recent.last_error.code}: {recent.last_error.message} (
                        <Time at={recent.last_error.at} />)
                      </>
                    ),
                    Connections:
                      connections.map((one) => `${one.name} ${one.state}`).join(', ') || null,
                  }}
                />
                {pauses.map(({ sender, code, reason, retry_at, created_at }) => (
                  <p key={sender}>
                    <Badge tone="warn">{sender ?? 'paused'}</Badge> {code} {reason} (
                    <Time at={created_at} />
                    {retry_at && (
                      <>
                        , next try <Time at={retry_at} />
                      </>
                    )}
                    ){' '}
                    {sender && (
                      <Button onClick={() => change(name, 'resume', 'Resume', sender)}>
                        Resume
                      </Button>
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

export default { title: 'Providers', Page: Providers }

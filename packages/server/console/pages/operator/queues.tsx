import { useEffect } from 'preact/hooks'
import type { OperatorQueues } from '../../../src/console-api/operator/answers.ts'
import { Button, confirm, Empty, Loaded, PageHead, Table, Time, toast } from '../../parts/index.ts'
import { count, number } from '../../shell/format.ts'
import { query, setQuery } from '../../shell/router.ts'
import { rich, t } from '../../shell/text.ts'
import { channelName } from '../messages/channels.ts'
import { useAct } from './acts.tsx'
import { send, usePolled } from './polled.ts'
import { since } from './provider-table.tsx'
import { WorkspaceLink } from './workspace-link.tsx'

function Queues() {
  const load = usePolled<OperatorQueues>('/queues')
  const { act, dialog } = useAct()
  async function resume(choice: 'send' | 'cancel' | null, text: string) {
    const yes = {
      title: t('Resume all sending?'),
      text,
      action: t('Resume'),
      danger: choice !== null,
    }
    if (!(await confirm(yes))) return
    const { canceled } = await send<{ canceled: number }>('/dispatch/resume', { choice })
    toast(
      choice === 'cancel'
        ? t('{canceled} canceled and refunded', { canceled: count(canceled, 'message') })
        : t('Sending continues'),
    )
    load.reload()
  }
  const pause = () =>
    act({
      title: t('Pause all sending and delivering'),
      action: t('Pause all'),
      text: t(
        'Requests are still accepted; their messages wait. This server begins no call any more, other servers none after five seconds; calls that have begun end within a minute, and count as in progress.',
      ),
      async run({ reason }) {
        await send('/dispatch/pause', { reason })
        load.reload()
        return t('All sending and delivering is paused')
      },
    })
  // The palette of the console leads here.
  const isAsked = query.value.get('act') === 'pause' && load.data !== undefined
  useEffect(() => {
    if (!isAsked) return
    setQuery({ act: undefined })
    if (!load.data?.pause) pause()
  }, [isAsked])
  return (
    <>
      <PageHead title={t('Queues')}>
        {load.data && !load.data.pause && (
          <Button kind="danger" onClick={pause}>
            {t('Pause all')}
          </Button>
        )}
      </PageHead>
      <Loaded of={load}>
        {({ messages, deliveries, pause, doubtful, unknown }) => (
          <div class="stack">
            {pause && (
              <section class="card">
                <h2>{t('All sending and delivering is paused')}</h2>
                <p>
                  <Time at={pause.created_at} />: {pause.reason}
                </p>
                {doubtful.length > 0 && (
                  <>
                    <p>
                      {t(
                        'These messages were due before the restore. A provider may have them already.',
                      )}
                    </p>
                    <Table
                      label={t('Messages in doubt')}
                      rows={doubtful}
                      keyOf={({ workspace_id, channel }) => workspace_id + channel}
                      columns={[
                        {
                          name: t('Workspace'),
                          kind: 'main',
                          value: (one) => <WorkspaceLink {...one} />,
                        },
                        { name: t('Channel'), value: (one) => channelName(one.channel) },
                        { name: t('Messages'), kind: 'number', value: (one) => number(one.count) },
                        { name: t('Oldest'), value: (one) => <Time at={one.oldest_at} /> },
                      ]}
                    />
                  </>
                )}
                <div class="actions">
                  {doubtful.length > 0 ? (
                    <>
                      <Button
                        onClick={() =>
                          resume(
                            'send',
                            t('The messages in doubt are sent, some perhaps a second time.'),
                          )
                        }
                      >
                        {t('Send them and resume')}
                      </Button>
                      <Button
                        kind="danger"
                        onClick={() =>
                          resume('cancel', t('The messages in doubt fail and are refunded.'))
                        }
                      >
                        {t('Cancel them and resume')}
                      </Button>
                    </>
                  ) : (
                    <Button
                      onClick={() =>
                        resume(null, t('Sending and delivering continue within a second.'))
                      }
                    >
                      {t('Resume')}
                    </Button>
                  )}
                </div>
              </section>
            )}
            <Table
              label={t('Queues')}
              rows={[
                { name: t('Messages'), ...messages },
                { name: t('Deliveries'), ...deliveries },
              ]}
              keyOf={({ name }) => name}
              columns={[
                { name: t('Queue'), kind: 'main', value: ({ name }) => name },
                { name: t('Due'), kind: 'number', value: ({ due }) => number(due) },
                {
                  name: t('Oldest due'),
                  value: ({ due, first_due_at }) => since(due > 0 ? first_due_at : null),
                },
                { name: t('In progress'), kind: 'number', value: ({ leased }) => number(leased) },
                {
                  name: t('Scheduled or retried later'),
                  kind: 'number',
                  value: ({ due, later, first_due_at: next }) => (
                    <>
                      {number(later)}{' '}
                      {due === 0 && next && (
                        <small>{rich('next {time}', { time: <Time at={next} /> })}</small>
                      )}
                    </>
                  ),
                },
              ]}
            />
            <h2>{t('Unknown outcomes')}</h2>
            <p class="small">
              {t(
                'A provider may have these messages. The service queries the provider; without an answer a message ends as outcome_unknown after ten minutes.',
              )}
            </p>
            {unknown.length === 0 ? (
              <Empty title={t('No message with an unknown outcome')} />
            ) : (
              <Table
                label={t('Unknown outcomes')}
                rows={unknown}
                keyOf={({ id }) => id}
                columns={[
                  { name: t('Recipient'), kind: 'main', value: (one) => one.recipient },
                  { name: t('Workspace'), value: (one) => <WorkspaceLink {...one} /> },
                  { name: t('Provider'), value: (one) => one.provider ?? '–' },
                  { name: t('Attempt'), kind: 'number', value: (one) => one.attempt },
                  { name: t('Unknown since'), value: (one) => <Time at={one.unknown_since} /> },
                  { name: t('Next look-up'), value: (one) => <Time at={one.due_at} /> },
                ]}
              />
            )}
          </div>
        )}
      </Loaded>
      {dialog}
    </>
  )
}

export default { title: t('Queues'), Page: Queues }

import type { OperatorBackups, OperatorLedger } from '../../../src/console-api/operator/answers.ts'
import { Badge, Button, Loaded, PageHead, Table, Time } from '../../parts/index.ts'
import { count, number } from '../../shell/format.ts'
import type { Load } from '../../shell/load.ts'
import { rich, t } from '../../shell/text.ts'
import { send, usePolled } from './polled.ts'

function Books() {
  const ledger = usePolled<OperatorLedger>('/ledger')
  const backups = usePolled<OperatorBackups>('/backups')
  const start = (load: Load<unknown>, path: string) => async () => {
    await send(path)
    load.reload()
  }
  return (
    <>
      <PageHead title={t('Ledger and backups')} />
      <div class="stack">
        <section class="card">
          <h2>{t('Ledger')}</h2>
          <Loaded of={ledger}>
            {({ is_offered, state, progress, report, error, started_at }) => (
              <>
                {!is_offered && (
                  <p>
                    {t(
                      'The program that embeds this console verifies the ledger with svc ledger verify.',
                    )}
                  </p>
                )}
                {state === 'running' && (
                  <p>
                    {progress
                      ? rich('Verifying {name}: {progress}', {
                          name: progress.name,
                          progress: (
                            <progress
                              value={progress.done}
                              max={progress.total}
                              aria-label={t('Progress')}
                            />
                          ),
                        })
                      : t('Verifying…')}
                  </p>
                )}
                {error && (
                  <p>
                    <Badge tone="bad">{t('failed')}</Badge> {error}
                  </p>
                )}
                {report && (
                  <p>
                    <Badge tone={report.ok ? 'good' : 'bad'}>
                      {report.ok ? t('consistent') : t('inconsistent')}
                    </Badge>{' '}
                    {count(report.entries, 'entry', 'entries')},{' '}
                    {count(report.workspaces, 'workspace')}, {count(report.messages, 'message')}{' '}
                    {started_at && <Time at={started_at} />}
                  </p>
                )}
                {report && !report.ok && (
                  <Table
                    label={t('Differences')}
                    rows={report.differences}
                    keyOf={(one) => JSON.stringify(one)}
                    columns={[
                      { name: t('Check'), kind: 'main', value: ({ check }) => check },
                      { name: t('Workspace'), value: (one) => one.workspace_id },
                      { name: t('Actual'), value: ({ stands }) => stands },
                      { name: t('Expected'), value: ({ should }) => should },
                    ]}
                  />
                )}
                {is_offered && (
                  <Button disabled={state === 'running'} onClick={start(ledger, '/ledger')}>
                    {t('Verify the ledger')}
                  </Button>
                )}
              </>
            )}
          </Loaded>
        </section>
        <section class="card">
          <h2>{t('Backups')}</h2>
          <Loaded of={backups}>
            {({ is_offered, dir, every_ms, backups: made, state, error }) =>
              is_offered ? (
                <>
                  <p class="small">
                    {every_ms === null
                      ? t('No backups are scheduled: set SVC_BACKUP_EVERY.')
                      : t('Every {number} h.', { number: number(every_ms / 3_600_000) })}{' '}
                    {t('Folder: {dir}. Each backup is verified when it is made.', { dir })}
                  </p>
                  {error && (
                    <p>
                      <Badge tone="bad">{t('failed')}</Badge> {error}
                    </p>
                  )}
                  {made.length > 0 && (
                    <Table
                      label={t('Backups')}
                      rows={made}
                      keyOf={({ name }) => name}
                      columns={[
                        { name: t('File'), kind: 'main', value: ({ name }) => name },
                        {
                          name: t('Size'),
                          kind: 'number',
                          value: ({ bytes }) =>
                            t('{number} KB', { number: number(Math.ceil(bytes / 1024)) }),
                        },
                        { name: t('Made and verified'), value: ({ at }) => <Time at={at} /> },
                      ]}
                    />
                  )}
                  {state === 'running' && (
                    <p>
                      {rich('The backup is being made and verified {progress}', {
                        progress: <progress aria-label={t('Progress')} />,
                      })}
                    </p>
                  )}
                  <Button disabled={state === 'running'} onClick={start(backups, '/backups')}>
                    {t('Make a backup now')}
                  </Button>
                </>
              ) : (
                <p>
                  {t('This server makes no backups. PostgreSQL is backed up with its own tools.')}
                </p>
              )
            }
          </Loaded>
        </section>
      </div>
    </>
  )
}

export default { title: t('Ledger and backups'), Page: Books }

import type {
  OperatedBulk,
  OperatorAuditEntry,
  OperatorWorkspace,
  PausedCountry,
} from '../../../src/console-api/operator/answers.ts'
import {
  Button,
  Copy,
  Drawer,
  Facts,
  LinkButton,
  Loaded,
  Money,
  Table,
  Time,
} from '../../parts/index.ts'
import { countryName, number } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { randomHex } from '../../shell/random.ts'
import { go } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { PausedCountries } from '../verifications/paused.tsx'
import { useAct } from './acts.tsx'
import { AuditList } from './audit.tsx'
import { send } from './polled.ts'

export function OneWorkspace({ id, onChange }: { id: string; onChange(): void }) {
  const load = useLoad(
    (signal) =>
      ownApi.get<{
        workspace: OperatorWorkspace
        paused_countries: PausedCountry[]
        bulks: OperatedBulk[]
        audit: OperatorAuditEntry[]
      }>(`/operator/workspaces/${id}`, {}, signal),
    [id],
  )
  const { act, dialog } = useAct()
  const change =
    (verb: string, result: string, body: (values: Record<string, string>) => object = () => ({})) =>
    async (values: Record<string, string>) => {
      await send(`/workspaces/${id}/${verb}`, { reason: values.reason, ...body(values) })
      load.reload()
      onChange()
      return result
    }
  const resumeOf = ({ country: code }: PausedCountry): Parameters<typeof act>[0] => {
    const country = countryName(code)
    return {
      title: t('Send codes to {country} again?', { country }),
      action: t('Resume'),
      text: t('Codes are sent whatever is approved. What was counted before is forgotten then.'),
      fields: [['hours', t('Hours'), t('For how long, 1 to 720')]],
      start: { hours: '24' },
      run: change(
        'allow-codes',
        t('Codes to {country} are sent again', { country }),
        ({ hours }) => ({ country: code, hours: Number(hours) }),
      ),
    }
  }
  return (
    <Drawer
      title={load.data?.workspace.name ?? t('Workspace')}
      onClose={() => go(`/operator/workspaces${location.search}`)}
    >
      <Loaded of={load}>
        {({ workspace: one, paused_countries, bulks, audit }) => (
          <div class="stack">
            <Facts
              of={{
                [t('Id')]: <Copy value={id} />,
                [t('E-mail')]: one.email,
                [t('Status')]: one.frozen_reason
                  ? t('frozen: {frozen_reason}', { frozen_reason: one.frozen_reason })
                  : wordOf(one.status),
                [t('Available')]: <Money credits={one.available} />,
                [t('Held')]: <Money credits={one.held} />,
                [t('Spent today')]: <Money credits={one.spent_today} />,
                [t('Daily limit')]:
                  one.daily_limit === null ? t('none') : <Money credits={one.daily_limit} />,
                [t('Credit limit')]: <Money credits={one.credit_limit} />,
              }}
            />
            <div class="actions">
              <Button
                kind="primary"
                onClick={() => {
                  // One id a form: a repeated click grants once.
                  const grant = uuid()
                  act({
                    title: t('Grant credits to {name}', { name: one.name }),
                    action: t('Grant credits'),
                    fields: [['credits', t('Credits')]],
                    run: change(
                      'grant',
                      t('{name} got the credits', { name: one.name }),
                      ({ credits }) => ({
                        credits: Number(credits || Number.NaN),
                        id: grant,
                      }),
                    ),
                  })
                }}
              >
                {t('Grant credits')}
              </Button>
              <Button
                onClick={() =>
                  act({
                    title: t('Limits of {name}', { name: one.name }),
                    action: t('Set limits'),
                    fields: [
                      ['daily_limit', t('Daily limit in credits'), t('Empty: none')],
                      [
                        'credit_limit',
                        t('Credit limit in credits'),
                        t('How far below 0 the balance may go'),
                      ],
                    ],
                    start: {
                      daily_limit: `${one.daily_limit ?? ''}`,
                      credit_limit: `${one.credit_limit}`,
                    },
                    run: change(
                      'terms',
                      t('The limits of {name} are set', { name: one.name }),
                      ({ daily_limit, credit_limit }) => ({
                        daily_limit: daily_limit ? Number(daily_limit) : null,
                        credit_limit: Number(credit_limit),
                      }),
                    ),
                  })
                }
              >
                {t('Limits')}
              </Button>
              {one.status === 'frozen' ? (
                <Button
                  onClick={() =>
                    act({
                      title: t('Unfreeze {name}', { name: one.name }),
                      action: t('Unfreeze'),
                      run: change('unfreeze', t('{name} may spend again', { name: one.name })),
                    })
                  }
                >
                  {t('Unfreeze')}
                </Button>
              ) : (
                <Button
                  kind="danger"
                  onClick={() =>
                    act({
                      title: t('Freeze {name}', { name: one.name }),
                      action: t('Freeze'),
                      text: t(
                        'It spends nothing from its next request on. Accepted messages are still sent.',
                      ),
                      run: change('freeze', t('{name} is frozen', { name: one.name })),
                    })
                  }
                >
                  {t('Freeze')}
                </Button>
              )}
            </div>
            <PausedCountries paused={paused_countries}>
              {(one) => <Button onClick={() => act(resumeOf(one))}>{t('Resume')}</Button>}
            </PausedCountries>
            {bulks.length > 0 && <Bulks of={bulks} />}
            <AuditList entries={audit} />
            <div class="actions">
              <LinkButton to={`/operator/audit?workspace_id=${id}`}>
                {t('Whole audit log')}
              </LinkButton>
              <LinkButton to={`/operator/purchases?search=${id}`}>{t('Purchases')}</LinkButton>
            </div>
          </div>
        )}
      </Loaded>
      {dialog}
    </Drawer>
  )
}

/** A random UUID of version 4. */
function uuid(): string {
  return randomHex().replace(/^(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-8$4-')
}

/** The newest bulks, and why messages of them failed. */
function Bulks({ of }: { of: readonly OperatedBulk[] }) {
  return (
    <section>
      <h3>{t('Newest bulks')}</h3>
      <Table
        label={t('Newest bulks')}
        rows={of}
        keyOf={({ id }) => id}
        columns={[
          { name: t('Bulk'), kind: 'main', value: ({ id, name }) => name ?? id },
          { name: t('Messages'), kind: 'number', value: ({ accepted }) => number(accepted) },
          { name: t('Queued'), kind: 'number', value: ({ queued }) => number(queued) },
          { name: t('Failed'), kind: 'number', value: ({ failed }) => number(failed) },
          { name: t('Canceled'), kind: 'number', value: ({ canceled }) => number(canceled) },
          { name: t('Rejected'), kind: 'number', value: ({ rejected }) => number(rejected) },
          {
            name: t('Why messages failed'),
            value: ({ failures }) =>
              failures
                .map(({ error_code, count }) => `${error_code ?? '–'} ${number(count)}`)
                .join(', '),
          },
          { name: t('Created'), value: ({ created_at }) => <Time at={created_at} /> },
        ]}
      />
    </section>
  )
}

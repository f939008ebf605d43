import type { OperatorSetting } from '../../../src/console-api/operator/answers.ts'
import {
  Badge,
  ChangePassword,
  Empty,
  Loaded,
  PageHead,
  Preferences,
  Search,
  SecondFactor,
  Table,
} from '../../parts/index.ts'
import { facts } from '../../shell/facts.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { query, setQuery } from '../../shell/router.ts'
import { operator } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'

function Settings() {
  const search = query.value.get('search') ?? ''
  const load = useLoad(
    (signal) =>
      ownApi.get<{ settings: OperatorSetting[] | null }>('/operator/settings', {}, signal),
    [],
  )
  return (
    <>
      <PageHead
        title={t('Service settings')}
        text={t('Read-only; secrets are masked. Pages: docs/operating/configuration.md')}
      />
      <div class="filters">
        <Search
          placeholder={t('Name, text or value')}
          value={search}
          onInput={(text) => setQuery({ search: text })}
        />
      </div>
      <Loaded of={load}>
        {({ settings }) =>
          settings === null || settings.length === 0 ? (
            <Empty
              icon="settings"
              title={t('The program that embeds this console has the settings')}
            />
          ) : (
            <Table
              label={t('Settings')}
              rows={settings.filter(({ env, summary, value }) =>
                `${env} ${summary} ${value}`.toLowerCase().includes(search.toLowerCase()),
              )}
              keyOf={({ env }) => env}
              columns={[
                {
                  name: t('Setting'),
                  kind: 'main',
                  value: ({ env, summary }) => (
                    <>
                      <code>{env}</code>
                      <p class="small">{summary}</p>
                    </>
                  ),
                },
                { name: t('Value'), kind: 'wide', value: ({ value }) => value ?? '' },
                {
                  name: t('From'),
                  value: ({ source }) => (
                    <Badge tone={source === 'default' ? 'plain' : 'good'}>{wordOf(source)}</Badge>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      <section class="card form section">
        <h2>{t('This browser')}</h2>
        <Preferences />
      </section>
      {!facts.sign_in.includes('host') && (
        <section class="card section">
          <h2>{t('Your password')}</h2>
          <ChangePassword
            name={operator.value ?? ''}
            onSubmit={async (json) => {
              await ownApi.send('POST', '/operator/password', json)
              operator.value = null
            }}
          />
          <h2 class="section">{t('Second factor')}</h2>
          <SecondFactor path="/operator/second-factor" code="code" onChanged={load.reload} />
        </section>
      )}
    </>
  )
}

export default { title: t('Service settings'), Page: Settings }

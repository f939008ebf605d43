import { Copy, Facts, LinkButton, Loaded, PageHead, Table } from '../../parts/index.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { root } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'
import { firstCurl } from '../keys/first-curl.ts'
import { RECIPIENTS } from './recipients.ts'

function FirstSteps() {
  const load = useLoad(
    (signal) => ownApi.get<{ api_key: string | null }>('/dev/start', {}, signal),
    [],
  )
  return (
    <>
      <PageHead
        title={t('Quick start')}
        text={t('Only svc dev has these tools, and only this machine reaches them.')}
      />
      <Loaded of={load}>
        {({ api_key }) => {
          const curl = firstCurl(api_key ?? 'svc_…')
          return (
            <div class="stack">
              <section class="card">
                <h2>{t('Send the first message')}</h2>
                <pre>{curl}</pre>
                <div class="actions">
                  <Copy value={curl} text="" label={t('Copy the command')} />
                  <LinkButton icon="phone" to="/tools/phone/+15005550008">
                    {t('See its recipient reply')}
                  </LinkButton>
                </div>
              </section>
              <section class="card">
                <h2>{t('Use it in a program')}</h2>
                <Facts
                  of={{
                    [t('Address')]: <Copy value={root} />,
                    [t('API key')]: api_key && <Copy value={api_key} />,
                  }}
                />
              </section>
              <section>
                <h2>{t('Recipients that decide the outcome')}</h2>
                <Table
                  label={t('Recipients')}
                  columns={[
                    { name: t('Recipient'), kind: 'main', value: ([address]) => address },
                    { name: t('Outcome'), value: ([, outcome]) => outcome },
                  ]}
                  rows={RECIPIENTS}
                  keyOf={([address]) => address}
                  to={([address]) =>
                    address.includes('@') ? '/tools/mails' : `/tools/phone/${address}`
                  }
                />
              </section>
            </div>
          )
        }}
      </Loaded>
    </>
  )
}

export default { title: t('Quick start'), Page: FirstSteps }

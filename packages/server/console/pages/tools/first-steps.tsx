import { Copy, Facts, LinkButton, Loaded, PageHead, Table } from '../../parts/index.ts'
import { base } from '../../shell/facts.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { RECIPIENTS } from './recipients.ts'

const EXAMPLE = { channel: 'sms', to: '+15005550008', content: { text: 'Hello from svc' } }

function curlOf(root: string, key: string): string {
  return [
    `curl -s ${root}/api/v1/messages/send \\`,
    `  -H 'X-API-Key: ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(EXAMPLE)}'`,
  ].join('\n')
}

function FirstSteps() {
  const load = useLoad(
    (signal) => ownApi.get<{ api_key: string | null }>('/dev/start', {}, signal),
    [],
  )
  const root = location.origin + base.replace(/\/[^/]*$/, '')
  return (
    <>
      <PageHead
        title="First steps"
        text="Only svc dev has these tools, and only this machine reaches them."
      />
      <Loaded of={load}>
        {({ api_key }) => {
          const curl = curlOf(root, api_key ?? 'svc_…')
          return (
            <div class="stack">
              <section class="card">
                <h2>Send the first message</h2>
                <pre>{curl}</pre>
                <div class="actions">
                  <Copy value={curl} text="" label="Copy the command" />
                  <LinkButton icon="phone" to="/tools/phone/+15005550008">
                    See its recipient reply
                  </LinkButton>
                </div>
              </section>
              <section class="card">
                <h2>Use it in a program</h2>
                <Facts
                  of={{
                    Address: <Copy value={root} />,
                    'API key': api_key && <Copy value={api_key} />,
                  }}
                />
              </section>
              <section>
                <h2>Recipients that decide the outcome</h2>
                <Table
                  label="Recipients"
                  columns={[
                    { name: 'Recipient', kind: 'main', value: ([address]) => address },
                    { name: 'Outcome', value: ([, outcome]) => outcome },
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

export default { title: 'First steps', Page: FirstSteps }

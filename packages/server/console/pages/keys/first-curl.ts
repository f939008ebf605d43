import { root } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'

/** A command that sends a first message with a key. `to`: the recipient; default: one of the sandbox, who answers. */
export function firstCurl(key: string, to = '+15005550008'): string {
  const body = { channel: 'sms', to, content: { text: t('Hello from svc') } }
  return [
    `curl -s ${root}/api/v1/messages/send \\`,
    `  -H 'X-API-Key: ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n')
}

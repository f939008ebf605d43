import { root } from '../../shell/router.ts'

const EXAMPLE = { channel: 'sms', to: '+15005550008', content: { text: 'Hello from svc' } }

/** A command that sends a first message with a key. */
export function firstCurl(key: string): string {
  return [
    `curl -s ${root}/api/v1/messages/send \\`,
    `  -H 'X-API-Key: ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(EXAMPLE)}'`,
  ].join('\n')
}

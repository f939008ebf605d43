import { expect, it } from 'vitest'
import { joined, personOf } from './client.ts'

const id = { iss: 'https://id.example', sub: 's' }
const email = 'a@example.com'

it.each<[string, object, object, string | null]>([
  ['both in the ID token', { email, email_verified: true }, {}, email],
  ['both in userinfo', {}, { email, email_verified: true }, email],
  ['verified in the ID token alone', { email_verified: true }, { email }, null],
  ['verified in userinfo alone', { email }, { email, email_verified: true }, null],
  [
    'another address verified',
    { email, email_verified: false },
    { email: 'b@example.com', email_verified: true },
    null,
  ],
])('takes a verified address from one source: %s', (_, token, userinfo, expected) => {
  const person = personOf(joined({ ...id, ...token }, { ...userinfo }), { roles: null })
  expect(person).toMatchObject({ subject: 's', verified_email: expected })
})

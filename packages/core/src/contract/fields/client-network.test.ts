import { expect, it } from 'vitest'
import { CLIENT_BITS, networkOf } from './client-network.ts'

const WIDE = { ipv4: 24, ipv6: 48 } as const

it.each([
  ['192.0.2.77', '192.0.2.77', '192.0.2.0/24'],
  ['::ffff:192.0.2.77', '192.0.2.77', '192.0.2.0/24'],
  ['::FFFF:c000:24d', '192.0.2.77', '192.0.2.0/24'],
  ['2001:db8::1', '2001:db8:0:0::/64', '2001:db8:0::/48'],
  ['2001:0DB8:0000:0000:ffff::2', '2001:db8:0:0::/64', '2001:db8:0::/48'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64', 'fe80:0:0::/48'],
  ['::', '0:0:0:0::/64', '0:0:0::/48'],
  ['::1', '0:0:0:0::/64', '0:0:0::/48'],
  ['1::', '1:0:0:0::/64', '1:0:0::/48'],
  ['64:ff9b::192.0.2.77', '64:ff9b:0:0::/64', '64:ff9b:0::/48'],
  ['unknown', null, null],
  ['192.0.2.1:8080', null, null],
  ['[2001:db8::1]', null, null],
  ['', null, null],
])('%s is the client %s of the network %s', (ip, client, wide) => {
  expect(networkOf(ip, CLIENT_BITS)).toBe(client)
  expect(networkOf(ip, WIDE)).toBe(wide)
})

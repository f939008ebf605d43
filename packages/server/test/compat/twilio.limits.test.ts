import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { expect, it } from 'vitest'
import { QUIET, useWorld } from '../world.ts'

const load = { ...QUIET }
let isBroken = false
const world = useWorld({
  listen: true,
  rates: { general: { max: 2, window_s: 60 } },
  load: () => load,
  spend: { countries: { allowed: null, denied: ['TZ'] } },
  alter: (core) => ({
    ...core,
    workspaces: {
      ...core.workspaces,
      account: (id) => {
        if (isBroken) throw new Error('a text about the database')
        return core.workspaces.account(id)
      },
    },
  }),
})

async function open() {
  const owner = await world().signup({ credits: 10 })
  const { key } = await world().key(owner)
  const account = sidOf('account', owner.id)
  const client = twilio(account, key)
  client.api.baseUrl = `${world().url}/compat/twilio`
  const authorization = `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`
  const path = `/compat/twilio/2010-04-01/Accounts/${account}/Balance.json`
  const fetched = () => fetch(`${world().url}${path}`, { headers: { authorization } })
  return { client, fetched }
}

it('The rate limit of the API holds at the door: 20429 with Retry-After', async () => {
  const { client, fetched } = await open()
  await client.balance.fetch()
  await client.balance.fetch()
  await expect(client.balance.fetch()).rejects.toMatchObject({ status: 429, code: 20429 })
  const answer = await fetched()
  expect(answer.status).toBe(429)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
})

it('An overloaded service refuses requests at the door: 20429 with Retry-After', async () => {
  const { fetched } = await open()
  Object.assign(load, { requests: 1_000_000, delay_ms: 60_000 })
  try {
    const answer = await fetched()
    expect(answer.status).toBe(429)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await answer.json()).toMatchObject({ code: 20429, status: 429 })
  } finally {
    Object.assign(load, QUIET)
  }
})

it('A country that the operator denies: 21408', async () => {
  const { client } = await open()
  const request = { to: '+255700000001', from: '+14155550190', body: 'Hi' }
  await expect(client.messages.create(request)).rejects.toMatchObject({ status: 400, code: 21408 })
})

it('A fault of the service: 20500 without its text, and a log line', async () => {
  const { client } = await open()
  isBroken = true
  try {
    await expect(client.balance.fetch()).rejects.toMatchObject({
      status: 500,
      code: 20500,
      message: expect.not.stringContaining('database'),
    })
    expect(world().takeFaults()).toMatchObject([
      { msg: 'request failed' },
      { msg: 'request', status: 500 },
    ])
  } finally {
    isBroken = false
  }
})

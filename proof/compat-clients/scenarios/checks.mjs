import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const END_MAX_MS = 30_000

const CALL = '<Response><Say>Hello</Say></Response>'
const REPLY =
  '<?xml version="1.0" encoding="UTF-8"?><Response><Message>Automatic reply</Message></Response>'

/** See `Scenario` in ../play.ts. */
export const scenario = JSON.parse(process.env.SCENARIO)

/** Loads a package of the run. */
export const load = createRequire(join(scenario.folder, 'package.json'))

/** Runs a check and prints its result. `exists`: whether this version of the client has a function for it. */
export async function check(name, work, { exists = true } = {}) {
  let fault = null
  try {
    if (exists) await work()
  } catch (error) {
    fault = `${error?.stack ?? JSON.stringify(error)}`
  }
  console.log(JSON.stringify({ name, exists, fault }))
}

/** The last line of a scenario that came to its end. */
export const end = () => console.log('end of the scenario')

/** The reason for which work is refused. */
export async function refusal(work) {
  try {
    await work
  } catch (error) {
    return error
  }
  return assert.fail('it was not refused')
}

/** Resolves with the first value of `read` for which `isThere` is true. */
export async function until(read, isThere, what) {
  const end = Date.now() + END_MAX_MS
  for (;;) {
    const value = await read()
    if (isThere(value)) return value
    assert.ok(Date.now() < end, `not within ${END_MAX_MS / 1000} s: ${what}`)
    await pause(50)
  }
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** A request to the API of the service, with its data. */
export async function api(method, path, body) {
  const { url, key } = scenario.service
  const response = await fetch(`${url}/api/v1/${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  const text = await response.text()
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text).data
}

/**
 * A receiver of deliveries. It answers the first delivery of a path below `/fails-once` with 500, and below `/replies` with a
 * reply in TwiML.
 */
export async function openReceiver() {
  const arrivals = []
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const { url, headers } = request
    const isFirst = !arrivals.some((arrival) => arrival.path === url)
    arrivals.push({ path: url, headers, body: Buffer.concat(chunks).toString() })
    const twiml = url.startsWith('/twiml') ? CALL : isFirst && url.startsWith('/replies') && REPLY
    if (twiml) {
      response.writeHead(200, { 'content-type': 'text/xml' }).end(twiml)
    } else response.writeHead(isFirst && url.startsWith('/fails-once') ? 500 : 204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    at: (path) => arrivals.filter((arrival) => arrival.path === path),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

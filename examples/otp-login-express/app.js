import { Svc, SvcError, ValidationError } from '@svc/client'
import express from 'express'
import { createCodes, VALID_S } from './codes.js'

const svc = new Svc()
const codes = createCodes({ secret: process.env.OTP_SECRET })

const app = express()
app.use(express.json({ limit: '1kb' }))

app.post('/login', async (request, response) => {
  const { phone } = request.body ?? {}
  if (!isPhone(phone)) return response.status(400).json({ error: 'invalid phone' })
  const code = codes.create(phone)
  if (code === null) return response.status(429).json({ error: 'too many codes' })
  await svc.messages.send({
    channel: 'sms',
    to: phone,
    content: { text: `${code} is your login code for Example. Do not share it.` },
    expires_in: VALID_S,
  })
  response.status(202).json({ valid_s: VALID_S })
})

app.post('/login/code', (request, response) => {
  const { phone, code } = request.body ?? {}
  if (!isPhone(phone) || !isCode(code) || !codes.use(phone, code)) {
    return response.status(401).json({ error: 'wrong, used or expired code' })
  }
  // Start the session of your app here.
  response.json({ phone })
})

app.use((error, _request, response, next) => {
  if (!(error instanceof SvcError) || response.headersSent) return next(error)
  // The service refuses a number that must not get messages.
  if (error instanceof ValidationError) return response.status(400).json({ error: 'invalid phone' })
  console.error(`the code was not sent: ${error.code} (request ${error.requestId})`)
  response.status(503).json({ error: 'the code was not sent' })
})

/** A number in international format: it has one spelling, so the limits count it once. */
function isPhone(value) {
  return typeof value === 'string' && /^\+[1-9]\d{6,14}$/.test(value)
}

function isCode(value) {
  return typeof value === 'string' && /^\d{6}$/.test(value)
}

const server = app.listen(Number(process.env.PORT ?? 8080), () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})

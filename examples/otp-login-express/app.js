import { NotFoundError, RateLimitError, Svc, SvcError, ValidationError } from '@svc/client'
import express from 'express'

const svc = new Svc()

const app = express()
app.use(express.json({ limit: '1kb' }))

app.post('/login', async (request, response) => {
  const { phone } = request.body ?? {}
  if (!isText(phone)) return response.status(400).json({ error: 'invalid phone' })
  const { verification_id, expires_at, test_code } = await svc.verifications.start({
    to: phone,
    channel: 'sms',
    ...(request.ip && { client_ip: request.ip }),
  })
  // Only a test key gets the code.
  if (test_code) console.log(`code for ${phone}: ${test_code}`)
  response.status(202).json({ login: verification_id, expires_at })
})

app.post('/login/code', async (request, response) => {
  const { login, code } = request.body ?? {}
  if (!isText(login) || !isText(code) || !(await isApproved(login, code))) {
    return response.status(401).json({ error: 'wrong, used or expired code' })
  }
  const { verification } = await svc.verifications.get(login)
  // Start the session of your app here.
  response.json({ phone: verification.to })
})

app.use((error, _request, response, next) => {
  if (!(error instanceof SvcError) || response.headersSent) return next(error)
  // The service refuses a number that must not get messages.
  if (error instanceof ValidationError) return response.status(400).json({ error: 'invalid phone' })
  if (error instanceof RateLimitError) {
    return response.status(429).json({ error: 'too many codes', retry_after_s: error.retryAfter })
  }
  console.error(`the code was not sent: ${error.code} (request ${error.requestId})`)
  response.status(503).json({ error: 'the code was not sent' })
})

async function isApproved(login, code) {
  try {
    const { status } = await svc.verifications.check(login, { code })
    return status === 'approved'
  } catch (error) {
    // Not an id or a code, or a code that was used.
    if (error instanceof ValidationError || error instanceof NotFoundError) return false
    throw error
  }
}

function isText(value) {
  return typeof value === 'string'
}

const server = app.listen(Number(process.env.PORT ?? 8080), () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})

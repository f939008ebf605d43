import express from 'express'
import twilio from 'twilio'

const accountSid = process.env.TWILIO_ACCOUNT_SID
const authToken = process.env.TWILIO_AUTH_TOKEN
const client = twilio(accountSid, authToken)
// The line that changes: without it, this app sends with Twilio.
client.api.baseUrl = process.env.TWILIO_BASE_URL

const app = express()
const statuses = new Map()

app.post('/orders', express.json(), async (req, res) => {
  try {
    const message = await client.messages.create({
      body: `Your order ${req.body.order} is ready`,
      from: '+15017122661',
      to: req.body.to,
      statusCallback: `${publicUrl()}/status`,
    })
    res.status(202).json({ sid: message.sid })
  } catch (error) {
    res.status(error.status ?? 502).json({ code: error.code, message: error.message })
  }
})

app.get('/orders/:sid', async (req, res) => {
  const { sid, status } = await client.messages(req.params.sid).fetch()
  res.json({ sid, status, callbacks: statuses.get(sid) ?? [] })
})

// The middleware of the package refuses a callback whose signature is wrong with 403.
app.post('/status', express.urlencoded({ extended: false }), twilio.webhook(), (req, res) => {
  const { MessageSid, MessageStatus } = req.body
  statuses.set(MessageSid, [...(statuses.get(MessageSid) ?? []), MessageStatus])
  res.status(204).end()
})

const server = app.listen(process.env.PORT ?? 8080, '127.0.0.1', () => console.log(publicUrl()))

function publicUrl() {
  return process.env.PUBLIC_URL ?? `http://127.0.0.1:${server.address().port}`
}

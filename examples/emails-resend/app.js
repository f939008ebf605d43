import express from 'express'
import { Resend } from 'resend'

// RESEND_API_KEY and RESEND_BASE_URL are read from the environment. Without RESEND_BASE_URL this app sends with Resend.
const resend = new Resend()
const app = express()
app.use(express.json())

app.post('/welcome', async (req, res) => {
  const { data, error } = await resend.emails.send({
    from: 'Acme <onboarding@acme.example>',
    to: [req.body.email],
    subject: 'hello world',
    html: '<strong>it works!</strong>',
  })
  if (error) return res.status(error.statusCode ?? 502).json({ error })
  res.status(202).json(data)
})

app.get('/welcome/:id', async (req, res) => {
  const { data, error } = await resend.emails.get(req.params.id)
  if (error) return res.status(error.statusCode ?? 502).json({ error })
  res.json({ to: data.to, last_event: data.last_event })
})

const server = app.listen(process.env.PORT ?? 8080, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})

import express from 'express'
import nodemailer from 'nodemailer'

// SMTP_URL has the address and the credentials, such as smtp://user:password@mail.example.com:587
const transporter = nodemailer.createTransport(process.env.SMTP_URL)
const app = express()
app.use(express.json())

app.post('/welcome', async (req, res) => {
  try {
    const info = await transporter.sendMail({
      from: '"Example Team" <team@example.com>',
      to: req.body.email,
      subject: 'Hello',
      text: 'Hello world?',
      html: '<b>Hello world?</b>',
    })
    res.status(202).json({ accepted: info.accepted, response: info.response })
  } catch (error) {
    res
      .status(502)
      .json({ code: error.responseCode ?? null, message: error.response ?? error.message })
  }
})

const server = app.listen(process.env.PORT ?? 8080, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})

CREATE TABLE "conversations" (
	"workspace_id" text NOT NULL,
	"channel" text NOT NULL,
	"sender" text NOT NULL,
	"address" text NOT NULL,
	"last_sent_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "conversations_workspace_id_channel_sender_address_pk" PRIMARY KEY("workspace_id","channel","sender","address")
);
--> statement-breakpoint
CREATE TABLE "message_parts" (
	"workspace_id" text NOT NULL,
	"message_id" text NOT NULL,
	"number" integer NOT NULL,
	"attempt" integer NOT NULL,
	"provider" text NOT NULL,
	"provider_message_id" text NOT NULL,
	"status" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "message_parts_workspace_id_message_id_attempt_number_pk" PRIMARY KEY("workspace_id","message_id","attempt","number")
);
--> statement-breakpoint
CREATE TABLE "parked_receipts" (
	"id" text PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"provider_message_id" text NOT NULL,
	"receipt" json NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "provider_pauses" (
	"provider" text NOT NULL,
	"sender" text NOT NULL,
	"cause" text NOT NULL,
	"code" text,
	"reason" text NOT NULL,
	"failures" integer NOT NULL,
	"retry_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "provider_pauses_provider_sender_pk" PRIMARY KEY("provider","sender")
);
--> statement-breakpoint
CREATE TABLE "received_messages" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"channel" text NOT NULL,
	"provider" text NOT NULL,
	"provider_message_id" text,
	"sender" text NOT NULL,
	"recipient" text NOT NULL,
	"content" json NOT NULL,
	"keyword" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "received_messages_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "received_parts" (
	"provider" text NOT NULL,
	"sender" text NOT NULL,
	"recipient" text NOT NULL,
	"reference" integer NOT NULL,
	"total" integer NOT NULL,
	"number" integer NOT NULL,
	"units" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "received_parts_provider_sender_recipient_reference_total_number_pk" PRIMARY KEY("provider","sender","recipient","reference","total","number")
);
--> statement-breakpoint
CREATE INDEX "conversations_address" ON "conversations" USING btree ("channel","address","sender","last_sent_at");--> statement-breakpoint
CREATE INDEX "message_parts_provider" ON "message_parts" USING btree ("provider","provider_message_id","created_at");--> statement-breakpoint
CREATE INDEX "parked_receipts_created" ON "parked_receipts" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "received_messages_provider" ON "received_messages" USING btree ("workspace_id","provider","provider_message_id") WHERE provider_message_id is not null;--> statement-breakpoint
CREATE INDEX "received_parts_created" ON "received_parts" USING btree ("created_at");
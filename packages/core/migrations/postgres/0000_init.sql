CREATE TABLE "api_keys" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"name" text NOT NULL,
	"key_hash" text NOT NULL,
	"key_prefix" text NOT NULL,
	"mode" text NOT NULL,
	"scopes" jsonb NOT NULL,
	"is_active" boolean NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"allowed_ips" jsonb,
	"daily_credit_limit" bigint,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "api_keys_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "credit_accounts" (
	"workspace_id" text PRIMARY KEY NOT NULL,
	"balance" bigint NOT NULL,
	"held" bigint NOT NULL,
	"credit_limit" bigint NOT NULL,
	"seq" bigint NOT NULL,
	"status" text NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "credit_accounts_held" CHECK ("credit_accounts"."held" >= 0),
	CONSTRAINT "credit_accounts_limit" CHECK ("credit_accounts"."credit_limit" >= 0),
	CONSTRAINT "credit_accounts_cap" CHECK (abs("credit_accounts"."balance") <= 999999999999999)
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"event_id" text NOT NULL,
	"event" text NOT NULL,
	"message_id" text,
	"status" text NOT NULL,
	"trigger" text NOT NULL,
	"attempt_count" integer NOT NULL,
	"max_attempts" integer NOT NULL,
	"next_attempt_at" timestamp (3) with time zone,
	"response_status" integer,
	"response_time_ms" integer,
	"error" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"delivered_at" timestamp (3) with time zone,
	CONSTRAINT "deliveries_workspace_id_webhook_id_id_pk" PRIMARY KEY("workspace_id","webhook_id","id")
);
--> statement-breakpoint
CREATE TABLE "delivery_attempts" (
	"workspace_id" text NOT NULL,
	"delivery_id" text NOT NULL,
	"number" integer NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"duration_ms" integer NOT NULL,
	"response_status" integer,
	"response_body" text,
	"error" text,
	CONSTRAINT "delivery_attempts_workspace_id_delivery_id_number_pk" PRIMARY KEY("workspace_id","delivery_id","number")
);
--> statement-breakpoint
CREATE TABLE "delivery_queue" (
	"delivery_id" text PRIMARY KEY NOT NULL,
	"workspace_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"token" text
);
--> statement-breakpoint
CREATE TABLE "events" (
	"workspace_id" text NOT NULL,
	"id" text NOT NULL,
	"event" text NOT NULL,
	"message_id" text,
	"body" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "events_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"workspace_id" text NOT NULL,
	"route" text NOT NULL,
	"key" text NOT NULL,
	"request_hash" text NOT NULL,
	"response" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_workspace_id_route_key_pk" PRIMARY KEY("workspace_id","route","key")
);
--> statement-breakpoint
CREATE TABLE "ledger_entries" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"seq" bigint NOT NULL,
	"kind" text NOT NULL,
	"amount" bigint NOT NULL,
	"held_delta" bigint NOT NULL,
	"balance_after" bigint NOT NULL,
	"held_after" bigint NOT NULL,
	"counter_account" text NOT NULL,
	"ref_type" text NOT NULL,
	"ref_id" text NOT NULL,
	"ref_n" integer NOT NULL,
	"channel" text,
	"quantity" integer,
	"unit_price" bigint,
	"actor" text,
	"description" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "ledger_entries_workspace_id_seq_pk" PRIMARY KEY("workspace_id","seq"),
	CONSTRAINT "ledger_entries_moves" CHECK ("ledger_entries"."amount" <> 0 or "ledger_entries"."held_delta" <> 0),
	CONSTRAINT "ledger_entries_sign" CHECK (case "ledger_entries"."kind" when 'send' then "ledger_entries"."amount" < 0 when 'refund' then "ledger_entries"."amount" > 0 when 'grant' then "ledger_entries"."amount" > 0 when 'purchase' then "ledger_entries"."amount" > 0 else true end)
);
--> statement-breakpoint
CREATE TABLE "message_attempts" (
	"workspace_id" text NOT NULL,
	"message_id" text NOT NULL,
	"number" integer NOT NULL,
	"provider" text NOT NULL,
	"outcome" text NOT NULL,
	"provider_message_id" text,
	"error_code" text,
	"error_message" text,
	"started_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "message_attempts_workspace_id_message_id_number_pk" PRIMARY KEY("workspace_id","message_id","number")
);
--> statement-breakpoint
CREATE TABLE "message_events" (
	"workspace_id" text NOT NULL,
	"message_id" text NOT NULL,
	"id" text NOT NULL,
	"status" text NOT NULL,
	"applied" boolean NOT NULL,
	"error_code" text,
	"error_message" text,
	"at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "message_events_workspace_id_message_id_id_pk" PRIMARY KEY("workspace_id","message_id","id")
);
--> statement-breakpoint
CREATE TABLE "message_queue" (
	"message_id" text PRIMARY KEY NOT NULL,
	"workspace_id" text NOT NULL,
	"channel" text NOT NULL,
	"task" text NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"token" text,
	"attempt" integer NOT NULL,
	"unknown_since" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "messages" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"api_key_id" text,
	"bulk_id" text,
	"channel" text NOT NULL,
	"sender" text,
	"recipient" text NOT NULL,
	"content" jsonb NOT NULL,
	"metadata" jsonb NOT NULL,
	"livemode" boolean NOT NULL,
	"status" text NOT NULL,
	"accepted" boolean NOT NULL,
	"credits_used" bigint NOT NULL,
	"credits_refunded" bigint NOT NULL,
	"segments" integer,
	"encoding" text,
	"provider" text,
	"provider_message_id" text,
	"error_code" text,
	"error_message" text,
	"sequence" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"scheduled_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"sent_at" timestamp (3) with time zone,
	"delivered_at" timestamp (3) with time zone,
	"read_at" timestamp (3) with time zone,
	"failed_at" timestamp (3) with time zone,
	CONSTRAINT "messages_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"url" text NOT NULL,
	"description" text,
	"events" jsonb NOT NULL,
	"headers" jsonb NOT NULL,
	"secret" text NOT NULL,
	"is_active" boolean NOT NULL,
	"status" text NOT NULL,
	"disabled_reason" text,
	"consecutive_failures" integer NOT NULL,
	"last_success_at" timestamp (3) with time zone,
	"last_failure_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhooks_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "workspaces" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"email_key" text NOT NULL,
	"email_verified" boolean NOT NULL,
	"password_hash" text NOT NULL,
	"token_version" integer NOT NULL,
	"phone" text,
	"country" text,
	"sender_name" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_key_hash" ON "api_keys" USING btree ("key_hash");--> statement-breakpoint
CREATE INDEX "deliveries_message" ON "deliveries" USING btree ("workspace_id","message_id");--> statement-breakpoint
CREATE INDEX "delivery_queue_due" ON "delivery_queue" USING btree ("webhook_id","due_at");--> statement-breakpoint
CREATE UNIQUE INDEX "ledger_entries_reference" ON "ledger_entries" USING btree ("workspace_id","ref_id","kind","ref_type","ref_n");--> statement-breakpoint
CREATE INDEX "message_queue_due" ON "message_queue" USING btree ("due_at");--> statement-breakpoint
CREATE UNIQUE INDEX "workspaces_email_key" ON "workspaces" USING btree ("email_key");
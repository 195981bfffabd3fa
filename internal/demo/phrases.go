package demo

const system = "Synthetic session made by the assay demo generator. No person took part in it; the shop, its orders and its customers do not exist. " +
	"You are the support agent of Example Outfitters. Look an order up before you speak about it, change only what the customer asked for, " +
	"confirm what you changed, and hand over to a person when a tool keeps failing."

type topic struct {
	name  string
	tool  string
	asks  []string
	offer string
	done  string
}

type item struct {
	sku, name string
	price     int
}

var topics = []topic{
	{"return", "create_return", []string{
		"The {item} from order {order} does not fit. I would like to send it back.",
		"Hi, I want to return the {item} in {order}. It is not what I expected.",
		"Please help me return one thing of order {order}: the {item}."},
		"I can open a return for the {item}; the label comes by mail and the refund follows once it arrives. Shall I?",
		"The return for the {item} of order {order} is open. The label is on its way to you."},
	{"address", "change_address", []string{
		"I have moved. Can order {order} with the {item} go to my new address, 12 Example Lane, Sampleton?",
		"Wrong address on {order}! It should be 12 Example Lane, Sampleton."},
		"The order has not left yet, so I can change the address to 12 Example Lane, Sampleton. Is that right?",
		"Order {order} will now go to 12 Example Lane, Sampleton."},
	{"refund", "issue_refund", []string{
		"I sent the {item} of order {order} back two weeks ago and still have no refund.",
		"Where is my money for the {item}? The order was {order}."},
		"The warehouse has the {item}, so I can start the refund now. Do you want it on the card you paid with?",
		"The refund for the {item} is started. It takes three to five working days."},
	{"cancel", "cancel_order", []string{
		"Please cancel order {order}. I ordered the {item} twice by mistake.",
		"Can you still stop {order}? I found the {item} in a shop here."},
		"The order is not packed yet, so I can cancel it and nothing will be charged. Shall I go on?",
		"Order {order} is cancelled. Nothing will be charged."},
	{"exchange", "create_exchange", []string{
		"I would like the {item} from {order} one size larger.",
		"Can I swap the {item} in order {order} for the same in blue?"},
		"We have that one in stock. I can send the new {item} as soon as you hand in the old one. Is that fine?",
		"The exchange of the {item} is set up. You get the new one within four days."},
	{"late", "reship_order", []string{
		"Order {order} should have been here on Monday. Where is my {item}?",
		"The tracking of {order} has said the same thing for six days. I need the {item} for a trip."},
		"The parcel seems to be lost on the way. I can send the {item} again without cost. Should I?",
		"A new parcel with the {item} leaves the warehouse today."},
}

var items = []item{
	{"TENT-2", "two-person example tent", 189}, {"BOOT-42", "sample hiking boots", 129}, {"JACK-M", "demo rain jacket", 99},
	{"PACK-40", "sample backpack", 110}, {"STOV-1", "imaginary camping stove", 59}, {"LAMP-3", "fictional head lamp", 35},
	{"BAG-0C", "made-up sleeping bag", 149}, {"BOTT-1", "pretend steel bottle", 24}, {"ROPE-60", "invented climbing rope", 135},
}

var (
	channels    = []string{"chat", "app", "mail"}
	orderStates = []string{"processing", "shipped", "delivered"}
	moods       = []string{"Thanks in advance.", "It is a bit urgent.", "I have asked about this before.", "Could you look into it?", "I am on my phone, so please keep it short."}
	offers      = []string{"Thank you, I found your order.", "I have your order in front of me.", "Got it.", "Sorry about the trouble, I see the order."}
	agrees      = []string{"Yes, please do that.", "Yes.", "Fine, go ahead.", "That works for me, thank you.", "OK. How long does it take?"}
	handovers   = []string{"I could not finish this myself, so I am handing you over to a colleague.", "Our order system does not let me do this. A person from the team takes over now."}
	apologies   = []string{"I am sorry, the order system does not answer. Please try again later.", "That did not work, and I cannot see why. I am sorry.", "I tried several times without success. Please write to us again tomorrow."}
	failures    = []string{`{"error":"timeout","message":"order service did not answer within 10 s"}`, `{"error":"unavailable","message":"order service answered 503"}`, `{"error":"locked","message":"order is being changed by another process"}`}
	thanks      = []string{"Great, thank you!", "Perfect, that was quick.", "Thanks, that is all."}
	complaints  = []string{"That does not help me.", "So what happens now?", "This is the second time that this happens.", "I still do not have what I asked for."}
	closings    = []string{"You are welcome. Have a good day.", "Is there anything else that I can do for you?", "Thank you for your patience."}
)
